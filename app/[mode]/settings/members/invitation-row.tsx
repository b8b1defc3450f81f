'use client'

import { Clock, TimerOff } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { RelativeTime } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { InvitationRow as Invitation } from '#lib/accounts/schema.ts'

interface InvitationRowProps {
  invitation: Invitation
  /** Absent for members who may only read. */
  onResend?: () => void
  onDone: () => Promise<unknown>
}

export function InvitationRow({ invitation, onResend, onDone }: InvitationRowProps) {
  const t = useTranslations('members')
  const api = useApi()
  const { id, email, role, invited_by: inviter, expires_at, is_expired } = invitation
  const revocation = useAction(() => api.send('DELETE', `/dashboard/invitations/${id}`), onDone)
  return (
    <li
      data-testid="invitation-row"
      className="grid grid-cols-[minmax(0,1fr)] gap-x-6 gap-y-2.5 border-line px-4 py-4 not-first:border-t md:px-[18px] @wide:grid-cols-[minmax(0,1fr)_150px_184px_256px] @wide:items-start"
    >
      <div className="min-w-0">
        <p id={`invitation-${id}`} className="wrap-anywhere font-semibold">
          {email}
        </p>
        {inviter ? (
          <p className="break-words text-muted text-small">{t('invitedBy', { name: inviter })}</p>
        ) : null}
      </div>
      <p className="font-medium">{t(`role.${role}`)}</p>
      <div className="text-small">
        {is_expired ? (
          <Chip tone="off" icon={TimerOff}>
            {t('expired')}
          </Chip>
        ) : (
          <>
            <Chip tone="wait" icon={Clock}>
              {t('waiting')}
            </Chip>
            <p className="mt-1 text-muted">
              {t('until')} <RelativeTime at={expires_at} />
            </p>
          </>
        )}
      </div>
      {onResend ? (
        <div className="flex flex-wrap gap-1 @max-wide:-ml-2.5 @wide:-mt-2 @wide:justify-end">
          <Button variant="plain" aria-describedby={`invitation-${id}`} onClick={onResend}>
            {t('again')}
          </Button>
          <Button
            variant="plain"
            aria-describedby={`invitation-${id}`}
            onClick={revocation.run}
            disabled={revocation.isBusy}
          >
            {t('revoke')}
          </Button>
        </div>
      ) : null}
      {revocation.failure ? (
        <div className="@wide:col-span-4">
          <Problem error={revocation.failure} />
        </div>
      ) : null}
    </li>
  )
}
