'use client'

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { OpenInvitations } from '#app/admin/accounts/open-invitations.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { InvitationLink } from '#components/ui/invitation-link.tsx'
import { type InvitationRow, openingRequest } from '#lib/accounts/schema.ts'

const INVITATIONS_KEY = ['operator invitations']

export function InviteDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations('inviteMerchant')
  const api = useApi()
  const queryClient = useQueryClient()
  const [created, setCreated] = useState<{ link: string; email: string; isMailed: boolean } | null>(
    null,
  )
  const { data: openInvitations = [] } = useQuery({
    queryKey: INVITATIONS_KEY,
    queryFn: async ({ signal }) =>
      (await api.get<{ data: InvitationRow[] }>('/admin/invitations', signal)).data,
  })
  const refresh = () => queryClient.invalidateQueries({ queryKey: INVITATIONS_KEY })
  const { problems, failure, isBusy, props } = useForm({
    schema: openingRequest,
    read: data => ({ email: String(data.get('email')).trim() || undefined }),
    send: async body => {
      const path = '/admin/invitations'
      type Created = { data: { link: string; is_mailed: boolean } }
      const { data } = await api.send<Created>('POST', path, { body })
      setCreated({ link: data.link, email: body.email, isMailed: data.is_mailed })
      await refresh()
    },
  })
  if (created) {
    return (
      <Dialog isOpen onClose={onClose} title={t('title')}>
        <InvitationLink {...created}>
          <Button variant="quiet" onClick={() => setCreated(null)}>
            {t('another')}
          </Button>
        </InvitationLink>
      </Dialog>
    )
  }
  return (
    <Dialog isOpen onClose={onClose} title={t('title')} description={t('text')}>
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
