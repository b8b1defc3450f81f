'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { RoleFields } from '#app/[mode]/settings/members/role-fields.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { LinkShown } from '#components/ui/link-shown.tsx'
import { type InvitationRow, invitationRequest } from '#lib/rooms/accounts/schema.ts'

interface InviteDialogProps {
  /** Invitation to send again; its earlier link stops working. */
  again?: InvitationRow
  onClose: () => void
  onDone: () => void
}

export function InviteDialog({ again, onClose, onDone }: InviteDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [made, setMade] = useState<{ link: string | null; email: string } | null>(null)
  const form = useForm({
    schema: invitationRequest.test,
    read: data => ({
      email: String(data.get('email')).trim() || undefined,
      role: data.get('role') ?? undefined,
    }),
    send: async (body, idempotencyKey) => {
      const order = { body, idempotencyKey }
      const said = await api.send<{ data: { link: string | null } }>(
        'POST',
        '/dashboard/invitations',
        order,
      )
      setMade({ link: said.data.link, email: body.email })
      onDone()
    },
  })
  const { email } = form.problems
  const title = again ? t('members.againTitle') : t('members.inviteTitle')
  if (made) {
    return (
      <Dialog isOpen onClose={onClose} title={title}>
        <LinkShown {...made}>
          <Button look="quiet" onClick={onClose}>
            {t('ui.close')}
          </Button>
        </LinkShown>
      </Dialog>
    )
  }
  const description = again ? t('members.againText') : t('members.inviteText')
  return (
    <Dialog isOpen onClose={onClose} title={title} description={description}>
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Field
          label={t('members.email')}
          name="email"
          type="email"
          autoComplete="off"
          defaultValue={again?.email}
          readOnly={again !== undefined}
          problem={email ? t(`members.emailProblem.${email}`) : null}
        />
        <RoleFields first={again?.role ?? 'viewer'} />
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
