import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { RelativeTime } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import type { InvitationRow } from '#lib/accounts/schema.ts'

interface OpenInvitationsProps {
  invitations: InvitationRow[]
  onDone: () => Promise<unknown>
}

export function OpenInvitations({ invitations, onDone }: OpenInvitationsProps) {
  const t = useTranslations('inviteMerchant')
  const api = useApi()
  const [busy, setBusy] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  async function revoke(id: string) {
    setBusy(id)
    setFailure(null)
    await api.send('DELETE', `/admin/invitations/${id}`).catch(setFailure)
    await onDone()
    setBusy(null)
  }
  return (
    <section aria-labelledby="open-invitations" className="mt-6 border-line border-t pt-5">
      <h3 id="open-invitations" className="mb-2 font-semibold text-small">
        {t('open')}
      </h3>
      <Problem error={failure} />
      <ul>
        {invitations.map(({ id, email, expires_at, is_expired }) => (
          <li key={id} className="flex items-center justify-between gap-3 py-1">
            <div className="min-w-0">
              <p id={`invitation-${id}`} className="truncate font-medium" title={email}>
                {email}
              </p>
              <p className="text-muted text-small">
                {is_expired ? t('expired') : t('expires')} <RelativeTime at={expires_at} />
              </p>
            </div>
            <Button
              variant="plain"
              aria-describedby={`invitation-${id}`}
              disabled={busy === id}
              onClick={() => revoke(id)}
            >
              {t('revoke')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}
