'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import {
  IssuedTokenDialog,
  type IssuedTokenRow,
} from '#app/[mode]/settings/tokens/issued-token.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Select } from '#components/ui/field.tsx'
import { OVERLAP_HOURS, rotateRequest, type TokenRow } from '#lib/tokens/schema.ts'

const DEFAULT_OVERLAP_HOURS = 24

interface RotateDialogProps {
  token: TokenRow
  origin: string
  onClose: () => void
  onDone: () => void
}

export function RotateDialog({ token, origin, onClose, onDone }: RotateDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [issued, setIssued] = useState<IssuedTokenRow | null>(null)
  const form = useForm({
    schema: rotateRequest.test,
    read: data => ({ overlap_hours: Number(data.get('overlap_hours')) }),
    send: async (body, idempotencyKey) => {
      const path = `/tokens/${token.id}/rotate`
      const response = await api.send<{ data: IssuedTokenRow }>('POST', path, {
        body,
        idempotencyKey,
      })
      setIssued(response.data)
      onDone()
    },
  })
  if (issued) return <IssuedTokenDialog issued={issued} origin={origin} onClose={onClose} />
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('tokens.rotateTitle', { name: token.name })}
      description={t('tokens.rotateText')}
    >
      <form {...form.props} className="grid gap-5">
        {token.permissions.includes('tokens:write') ? <p>{t('tokens.rotateChildren')}</p> : null}
        <Select
          label={t('tokens.overlap')}
          name="overlap_hours"
          defaultValue={DEFAULT_OVERLAP_HOURS}
          hint={token.expires_at ? t('tokens.rotateExpiry') : undefined}
        >
          {OVERLAP_HOURS.map(hours => (
            <option key={hours} value={hours}>
              {t(`tokens.hours.${hours}`)}
            </option>
          ))}
        </Select>
        <DialogActions
          action={t('tokens.rotate')}
          busy={t('tokens.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
