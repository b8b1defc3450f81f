'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { type PasskeyChallenge, registerPasskey } from '#components/proof/passkey-calls.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { passkeyName } from '#lib/people/schema.ts'

interface PasskeyDialogProps {
  onClose: () => void
  onDone: (codes: string[] | null) => void
}

type Options = Parameters<typeof registerPasskey>[0]['options']

export function PasskeyDialog({ onClose, onDone }: PasskeyDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [isDismissed, setDismissed] = useState(false)
  const form = useForm({
    schema: passkeyName,
    read: data => ({ name: String(data.get('name')).trim() || undefined }),
    send: async ({ name }) => {
      setDismissed(false)
      const path = '/person/passkeys'
      const challengeResponse = await api.send<{ data: PasskeyChallenge<Options> }>(
        'POST',
        `${path}/options`,
      )
      const created = await registerPasskey(challengeResponse.data)
      if (!created) return setDismissed(true)
      const body = { name, ...created }
      const response = await api.send<{ data: { recovery_codes: string[] | null } }>('POST', path, {
        body,
      })
      onDone(response.data.recovery_codes)
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('factor.passkey.dialogTitle')}
      description={t('factor.passkey.dialogText')}
    >
      <form {...form.props} className="grid gap-5">
        <Field
          label={t('factor.passkey.name')}
          name="name"
          maxLength={60}
          autoComplete="off"
          hint={t('factor.passkey.nameHint')}
          problem={form.problems.name ? t('factor.passkey.nameInvalid') : null}
        />
        {isDismissed ? (
          <p role="status" className="text-muted text-small">
            {t('factor.passkey.dismissed')}
          </p>
        ) : null}
        <DialogActions
          action={t('factor.passkey.make')}
          busy={t('factor.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
