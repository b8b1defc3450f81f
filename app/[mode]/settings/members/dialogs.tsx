'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { RoleFields } from '#app/[mode]/settings/members/role-fields.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { InvitationLink } from '#components/ui/invitation-link.tsx'
import { type InvitationRow, invitationRequest } from '#lib/accounts/schema.ts'

interface InviteDialogProps {
  /** Invitation to send again; the link sent before stops working. */
  invitationToResend?: InvitationRow
  onClose: () => void
  onDone: () => void
}

interface CreatedInvitation {
  link: string | null
  email: string
  isMailed: boolean
}

export function InviteDialog({ invitationToResend, onClose, onDone }: InviteDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [created, setCreated] = useState<CreatedInvitation | null>(null)
  const form = useForm({
    schema: invitationRequest.test,
    read: data => ({
      email: String(data.get('email')).trim() || undefined,
      role: data.get('role') ?? undefined,
    }),
    send: async (body, idempotencyKey) => {
      const request = { body, idempotencyKey }
      const response = await api.send<{ data: { link: string | null; is_mailed: boolean } }>(
        'POST',
        '/dashboard/invitations',
        request,
      )
      const { link, is_mailed: isMailed } = response.data
      setCreated({ link, email: body.email, isMailed })
      onDone()
    },
  })
  const { email } = form.problems
  const title = invitationToResend ? t('members.againTitle') : t('members.inviteTitle')
  if (created) {
    return (
      <Dialog isOpen onClose={onClose} title={title}>
        <InvitationLink {...created}>
          <Button variant="quiet" onClick={onClose}>
            {t('ui.close')}
          </Button>
        </InvitationLink>
      </Dialog>
    )
  }
  const description = invitationToResend ? t('members.againText') : t('members.inviteText')
  return (
    <Dialog isOpen onClose={onClose} title={title} description={description}>
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Field
          label={t('members.email')}
          name="email"
          type="email"
          autoComplete="off"
          defaultValue={invitationToResend?.email}
          readOnly={invitationToResend !== undefined}
          problem={email ? t(`members.emailProblem.${email}`) : null}
        />
        <RoleFields defaultRole={invitationToResend?.role ?? 'viewer'} />
        <DialogActions
          action={t('members.send')}
          busy={t('members.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
