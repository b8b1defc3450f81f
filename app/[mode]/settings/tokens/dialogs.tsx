'use client'

import { useMutation } from '@tanstack/react-query'
import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { AddressField, readAddresses } from '#app/[mode]/settings/tokens/token-fields.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyButton, CopyValue } from '#components/ui/copy.tsx'
import { Dialog, DialogActions, SecretDialog } from '#components/ui/dialog.tsx'
import { Field, Select } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import {
  addressesRequest,
  OVERLAP_HOURS,
  type Permission,
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

export type TokenWithSecret = TokenRow & { token: string | null }

interface IssuedTokenProps {
  issued: TokenWithSecret
  /** Origin of the API, for the example command. */
  origin: string
  onClose: () => void
}

/** Shows a new token in full. The server never returns it again. */
export function IssuedTokenDialog({ issued, origin, onClose }: IssuedTokenProps) {
  const t = useTranslations('tokens')
  const { token } = issued
  const title = t('shown.title')
  if (token === null) {
    return (
      <Dialog onClose={onClose} title={title}>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
          <Notice tone="wait" icon={TriangleAlert} role="alert">
            {t('shown.lost')}
          </Notice>
          <div className="flex justify-end">
            <Button variant="quiet" onClick={onClose}>
              {t('shown.back')}
            </Button>
          </div>
        </div>
      </Dialog>
    )
  }
  const command = exampleCommand(token, issued.permissions, origin)
  return (
    <SecretDialog title={title} savedLabel={t('shown.done')} onSaved={onClose}>
      <Notice tone="wait" icon={TriangleAlert}>
        {t('shown.warning')}
      </Notice>
      <div>
        <p className="mb-1.5 font-semibold text-small">{t('shown.value')}</p>
        <code
          data-testid="token-value"
          className="block select-all break-all rounded-control bg-sunk px-3.5 py-3 font-mono text-[14px]"
        >
          {token}
        </code>
        <div className="mt-3 flex">
          <CopyButton text={token} />
        </div>
        <p className="mt-3 flex items-center gap-2.5 text-muted text-small">
          {t('id')}
          <CopyValue name={t('id')} value={issued.id} />
        </p>
      </div>
      {command ? (
        <div className="border-line border-t pt-5">
          <div className="mb-1.5 flex items-center justify-between gap-3">
            <p className="font-semibold text-small">{t('shown.curl')}</p>
            <CopyButton text={command} label="curl" variant="plain" />
          </div>
          <pre className="whitespace-pre-wrap break-all rounded-control bg-sunk px-3.5 py-3 font-mono text-[13px]">
            {command}
          </pre>
        </div>
      ) : null}
    </SecretDialog>
  )
}

const READ_PATHS: [Permission, string][] = [
  ['account:read', '/account'],
  ['transactions:read', '/transactions'],
  ['withdrawals:read', '/withdrawals'],
  ['events:read', '/events'],
  ['statement:read', '/statement'],
]
const CHARGE_BODY =
  '{"amount":1500,"client_name":"Ana Rocha","client_email":"ana@example.com","client_doc":"529.982.247-25"}'

function exampleCommand(token: string, permissions: Permission[], origin: string): string | null {
  const header = `-H "Authorization: Bearer ${token}"`
  const allowedRead = READ_PATHS.find(([name]) => permissions.includes(name))
  if (allowedRead) return `curl ${origin}/api${allowedRead[1]} \\\n  ${header}`
  if (!permissions.includes('transactions:write')) return null
  return `curl ${origin}/api/transactions \\\n  ${header} \\\n  -H "Content-Type: application/json" \\\n  -d '${CHARGE_BODY}'`
}
