'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/api.ts'
import { useForm } from '#components/form.ts'
import { Problem } from '#components/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
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
      await api.send('POST', `/dashboard/tokens/${token.id}/revoke`, { body, idempotencyKey })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('tokens.revokeTitle', { name: token.name })}
      description={t('tokens.revokeText')}
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
        <Problem error={form.failure} />
        <div className="flex flex-wrap justify-end gap-3">
          <Button look="quiet" onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button
            look="primary"
            type="submit"
            disabled={form.isBusy}
            className="bg-bad! text-surface!"
          >
            {form.isBusy ? t('tokens.busy') : t('tokens.revoke')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
