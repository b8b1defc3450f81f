'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { revokeRequest, type TokenRow } from '#lib/tokens/schema.ts'

interface RevokeDialogProps {
  token: TokenRow
  onClose: () => void
  onDone: () => void
}

export function RevokeDialog({ token, onClose, onDone }: RevokeDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const form = useForm({
    schema: revokeRequest.test,
    read: data => ({ reason: String(data.get('reason')).trim() || undefined }),
    send: async (body, idempotencyKey) => {
      await api.send('POST', `/tokens/${token.id}/revoke`, { body, idempotencyKey })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('tokens.revokeTitle', { name: token.name })}
      description={[
        t('tokens.revokeText'),
        token.permissions.includes('webhooks:write') ? t('tokens.revokeKeeps') : null,
      ]
        .filter(Boolean)
        .join(' ')}
    >
      <form {...form.props} className="grid gap-5">
        <p className="truncate font-mono text-[13px] text-muted">
          {token.prefix}…{token.last_four}
        </p>
        <Field
          label={t('tokens.revokeReason')}
          note={t('ui.optional')}
          name="reason"
          maxLength={200}
          autoComplete="off"
          hint={t('tokens.revokeReasonHint')}
          problem={form.problems.reason ? t('tokens.tooLong') : null}
        />
        <DialogActions
          action={t('tokens.revoke')}
          busy={t('tokens.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          isDestructive
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
