import { ShieldCheck, ShieldOff } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { RelativeTime } from '#components/format/format.tsx'
import type { MemberRow as Member } from '#lib/accounts/schema.ts'

interface MemberRowProps {
  member: Member
  isMe: boolean
  children: ReactNode
}

export function MemberRow({ member, isMe, children }: MemberRowProps) {
  const t = useTranslations('members')
  const { user_id, full_name, email, role, joined_at, last_used_at, has_second_factor } = member
  const FactorIcon = has_second_factor ? ShieldCheck : ShieldOff
  return (
    <li
      data-testid="member-row"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2.5 border-line px-4 py-4 not-first:border-t md:px-[18px] @wide:grid-cols-[minmax(0,1fr)_150px_184px_256px] @wide:items-start"
    >
      <div className="min-w-0">
        <p id={`member-${user_id}`} className="break-words font-semibold">
          {full_name}
          {isMe ? <span className="ml-1.5 font-normal text-muted">{t('you')}</span> : null}
        </p>
        {full_name === email ? null : (
          <p className="wrap-anywhere text-muted text-small">{email}</p>
        )}
      </div>
      <div>
        <p className="font-medium" data-testid="member-role">
          {t(`role.${role}`)}
        </p>
        <p className="mt-0.5 flex gap-1.5 text-muted text-small">
          <FactorIcon
            size={14}
            aria-hidden
            className={`mt-[3px] shrink-0 ${has_second_factor ? 'text-ok' : ''}`}
          />
          {has_second_factor ? t('twoSteps') : t('oneStep')}
        </p>
      </div>
      <dl className="grid gap-y-0.5 text-small">
        <Time name={t('lastUsed')}>
          {last_used_at ? <RelativeTime at={last_used_at} /> : t('never')}
        </Time>
        <Time name={t('since')}>
          <RelativeTime at={joined_at} />
        </Time>
      </dl>
      <div className="flex flex-wrap gap-1 empty:hidden @max-wide:-ml-2.5 @wide:-mt-2 @wide:justify-end">
        {children}
      </div>
    </li>
  )
}

function Time({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex gap-2">
      <dt className="w-[84px] shrink-0 text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
