import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import type { AccountDetail } from '#lib/operator/schema.ts'

const AMOUNT_NAMES = ['balance', 'outbound', 'disputed', 'claim', 'volume'] as const
/** On phones, the two amounts stand below their name. */
const NARROW_ROW = 'max-sm:grid max-sm:grid-cols-2'
/** Shown only for accounts that have them. */
const RARE_NAMES: readonly string[] = ['disputed', 'claim']

export function Amounts({ account }: { account: AccountDetail }) {
  const t = useTranslations('adminAccount')
  return (
    <table className="w-full">
      <thead>
        <tr className={`text-right text-muted text-small ${NARROW_ROW}`}>
          <td className="max-sm:hidden" />
          <th scope="col" className="pb-1 font-medium">
            {t('live')}
          </th>
          <th scope="col" className="pb-1 pl-4 font-medium">
            {t('test')}
          </th>
        </tr>
      </thead>
      <tbody>
        {AMOUNT_NAMES.filter(
          name => !RARE_NAMES.includes(name) || account[name].live + account[name].test > 0,
        ).map(name => (
          <tr key={name} className={`border-line border-t text-right ${NARROW_ROW}`}>
            <th
              scope="row"
              className="py-2.5 pr-3 text-left font-normal text-small max-sm:col-span-2 max-sm:pb-0"
            >
              {t(`amount.${name}`)}
            </th>
            <td className="py-2.5 font-semibold max-sm:text-small">
              <Money cents={account[name].live} />
            </td>
            <td className="py-2.5 pl-4 text-muted max-sm:pl-2 max-sm:text-small">
              <Money cents={account[name].test} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function PaymentLinks({ accountId }: { accountId: string }) {
  const t = useTranslations('adminPayments')
  return (
    <nav aria-label={t('label')} className="flex gap-4">
      {(['charges', 'withdrawals'] as const).map(kind => (
        <Link
          key={kind}
          href={`/admin/accounts/${accountId}/${kind}`}
          prefetch={false}
          className="font-semibold text-accent text-small hover:underline"
        >
          {t(kind)}
        </Link>
      ))}
    </nav>
  )
}
