import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { buttonClass } from '#components/ui/button.tsx'
import type { BankDetail } from '#lib/operator/banks/schema.ts'

export function AssignedAccounts({ assigned }: Pick<BankDetail, 'assigned'>) {
  const t = useTranslations('banks')
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
      {assigned.length === 0 ? (
        <p className="text-muted">{t('accounts.none')}</p>
      ) : (
        <ul aria-label={t('accounts.title')}>
          {assigned.map(({ id, name, receives, pays }) => (
            <li
              key={id}
              className="flex flex-wrap items-center justify-between gap-x-4 border-line py-2.5 not-first:border-t"
            >
              <Link
                href={`/admin/accounts/${id}`}
                prefetch={false}
                className="min-w-0 truncate font-medium hover:underline"
              >
                {name}
              </Link>
              <span className="text-muted text-small">
                {t(`accounts.${receives && pays ? 'both' : receives ? 'receives' : 'pays'}`)}
              </span>
            </li>
          ))}
        </ul>
      )}
      <div>
        <Link href="/admin/accounts" prefetch={false} className={buttonClass('quiet')}>
          {t('accounts.all')}
        </Link>
      </div>
    </div>
  )
}
