'use client'

import { useMutation } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import {
  AddressField,
  IssuedTokenDialog,
  readAddresses,
  type TokenWithSecret,
} from '#app/[mode]/settings/tokens/token-fields.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import {
  addressesRequest,
  OVERLAP_HOURS,
  revokeRequest,
  rotateRequest,
  type TokenRow,
} from '#lib/tokens/schema.ts'

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
  const [issued, setIssued] = useState<TokenWithSecret | null>(null)
  const form = useForm({
    schema: rotateRequest.test,
    read: data => ({ overlap_hours: Number(data.get('overlap_hours')) }),
    send: async (body, idempotencyKey) => {
      const response = await api.post('/tokens/[id]/rotate', {
        params: { id: token.id },
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
      await api.post('/tokens/[id]/revoke', { params: { id: token.id }, body, idempotencyKey })
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

interface AddressDialogProps {
  token: TokenRow
  onClose: () => void
  onDone: () => void
}

export function AddressDialog({ token, onClose, onDone }: AddressDialogProps) {
  const t = useTranslations('tokens')
  const api = useApi()
  const form = useForm({
    schema: addressesRequest.test,
    read: data => ({ allowed_addresses: readAddresses(data) }),
    send: async body => {
      await api.patch('/tokens/[id]', { params: { id: token.id }, body })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('addresses.title', { name: token.name })}
      description={t('addresses.text')}
    >
      <form {...form.props} className="grid gap-5">
        <AddressField
          addresses={token.allowed_addresses}
          isWrong={form.problems.allowed_addresses !== undefined}
        />
        <DialogActions
          action={t('addresses.save')}
          busy={t('busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

interface AdoptDialogProps {
  token: TokenRow
  onClose: () => void
  onDone: () => void
}

/** Lets an owner confirm a token that exceeds the role of its issuer. */
export function AdoptDialog({ token, onClose, onDone }: AdoptDialogProps) {
  const t = useTranslations('tokens')
  const api = useApi()
  const adoption = useMutation({
    mutationFn: () => api.post('/dashboard/tokens/[id]/adopt', { params: { id: token.id } }),
    onSuccess: () => {
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('adoptTitle', { name: token.name })}
      description={t('adoptText')}
    >
      <div className="grid gap-5">
        <p className="truncate font-mono text-[13px] text-muted">
          {token.prefix}…{token.last_four}
        </p>
        <DialogActions
          action={t('adopt')}
          busy={t('busy')}
          isBusy={adoption.isPending}
          failure={adoption.error}
          onCancel={onClose}
          onConfirm={() => adoption.mutate()}
        />
      </div>
    </Dialog>
  )
}
