'use client'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { InvitationLink } from '#components/ui/invitation-link.tsx'
import {
  type ChangedStatus,
  type InvitationRow,
  openingRequest,
  STATUS_OUTCOMES,
} from '#lib/accounts/schema.ts'

export function InviteMerchantDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations('inviteMerchant')
  const api = useApi()
  const queryClient = useQueryClient()
  const [created, setCreated] = useState<{ link: string; email: string; isMailed: boolean } | null>(
    null,
  )
  const query = operatorQueries.invitations(api)
  const { data: openInvitations = [] } = useQuery(query)
  const refresh = () => queryClient.invalidateQueries({ queryKey: query.queryKey })
  const { problems, failure, isBusy, props } = useForm({
    schema: openingRequest,
    read: data => ({ email: String(data.get('email')).trim() || undefined }),
    send: async body => {
      const { data } = await api.post('/admin/invitations', { body })
      setCreated({ link: data.link, email: body.email, isMailed: data.is_mailed })
      await refresh()
    },
  })
  if (created) {
    return (
      <Dialog onClose={onClose} title={t('title')}>
        <InvitationLink {...created}>
          <Button variant="quiet" onClick={() => setCreated(null)}>
            {t('another')}
          </Button>
        </InvitationLink>
      </Dialog>
    )
  }
  return (
    <Dialog onClose={onClose} title={t('title')} description={t('text')}>
      <form {...props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Field
          label={t('email')}
          name="email"
          type="email"
          autoComplete="off"
          problem={problems.email ? t(`emailProblem.${problems.email}`) : null}
        />
        <DialogActions
          action={t('send')}
          busy={t('busy')}
          isBusy={isBusy}
          failure={failure}
          onCancel={onClose}
        />
      </form>
      {openInvitations.length > 0 ? (
        <OpenInvitations invitations={openInvitations} onDone={refresh} />
      ) : null}
    </Dialog>
  )
}

interface OpenInvitationsProps {
  invitations: InvitationRow[]
  onDone: () => Promise<unknown>
}

function OpenInvitations({ invitations, onDone }: OpenInvitationsProps) {
  const t = useTranslations('inviteMerchant')
  const api = useApi()
  const revocation = useMutation({
    mutationFn: (id: string) => api.delete('/admin/invitations/[id]', { params: { id } }),
    onSettled: onDone,
  })
  return (
    <section aria-labelledby="open-invitations" className="mt-6 border-line border-t pt-5">
      <h3 id="open-invitations" className="mb-2 font-semibold text-small">
        {t('open')}
      </h3>
      <Problem error={revocation.error} />
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
              disabled={revocation.isPending && revocation.variables === id}
              onClick={() => revocation.mutate(id)}
            >
              {t('revoke')}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface ResultDialogProps {
  results: ChangedStatus[]
  names: ReadonlyMap<string, string>
  onClose: () => void
}

/** Shows what became of each account, those that did not change by name. */
export function ResultDialog({ results, names, onClose }: ResultDialogProps) {
  const t = useTranslations('accountSelection')
  return (
    <Dialog onClose={onClose} title={t('results')}>
      <dl className="grid grid-cols-[minmax(0,1fr)] gap-4">
        {STATUS_OUTCOMES.map(outcome => {
          const accounts = results.filter(result => result.outcome === outcome)
          if (accounts.length === 0) return null
          return (
            <div key={outcome}>
              <dt className="font-semibold">
                {t(`outcome.${outcome}`, { count: accounts.length })}
              </dt>
              {accounts.map(({ account_id: id }) => (
                <dd key={id} className="text-muted text-small">
                  {names.get(id) ?? id}
                </dd>
              ))}
            </div>
          )
        })}
      </dl>
      <div className="mt-5 flex justify-end">
        <Button variant="primary" onClick={onClose}>
          {t('close')}
        </Button>
      </div>
    </Dialog>
  )
}
