import { ShieldAlert, ShieldCheck } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { AccountMember } from '#lib/operator/schema.ts'

export function MemberLines({ members }: { members: AccountMember[] }) {
  const t = useTranslations()
  return (
    <ul aria-label={t('adminAccount.members')}>
      {members.map(({ id, name, email, role, has_second_factor: hasFactor, is_disabled }) => (
        <li
          key={id}
          className="flex flex-wrap items-center gap-x-6 gap-y-1 border-line py-3 not-first:border-t"
        >
          <div className="min-w-0 flex-1 basis-44">
            <Link
              href={`/admin/people/${id}`}
              prefetch={false}
              className="block wrap-anywhere font-medium hover:underline"
            >
              {name}
            </Link>
            <p className="wrap-anywhere text-muted text-small">{email}</p>
          </div>
          <p className="w-20 text-small">
            {t(`settings.role.${role}`)}
            {is_disabled ? (
              <span className="block text-bad">{t('adminAccount.disabled')}</span>
            ) : null}
          </p>
          <p
            className={`flex w-42 items-center gap-1.5 text-small ${hasFactor ? 'text-ok' : 'text-muted'}`}
          >
            {hasFactor ? (
              <ShieldCheck size={15} aria-hidden className="shrink-0" />
            ) : (
              <ShieldAlert size={15} aria-hidden className="shrink-0" />
            )}
            {hasFactor ? t('adminAccount.factor') : t('adminAccount.noFactor')}
          </p>
        </li>
      ))}
    </ul>
  )
}
