'use client'

import { useMutation } from '@tanstack/react-query'
import { Download } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'
import { useState } from 'react'
import { saveAs } from '#components/api/client.ts'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { registerPasskey } from '#components/proof/passkey-calls.ts'
import { FactorForm } from '#components/proof/proof-dialog.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Dialog, DialogActions, SecretDialog } from '#components/ui/dialog.tsx'
import { CodeField, Field } from '#components/ui/field.tsx'
import { codeProof, type Factor, passkeyName, type ShownPasskey } from '#lib/people/schema.ts'

export interface AuthenticatorSetup {
  secret: string
  uri: string
}

interface AuthenticatorDialogProps {
  setup: AuthenticatorSetup
  onClose: () => void
  onDone: (codes: string[] | null) => void
}

export function AuthenticatorDialog({ setup, onClose, onDone }: AuthenticatorDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const form = useForm({
    schema: codeProof,
    read: data => ({ code: data.get('code') || undefined }),
    send: async body => {
      const path = '/person/authenticator/confirm'
      const response = await api.post(path, { body })
      onDone(response.data.recovery_codes)
    },
  })
  const { code: problem } = form.problems
  return (
    <Dialog
      onClose={onClose}
      title={t('factor.app.dialogTitle')}
      description={t('factor.app.scan')}
    >
      <form {...form.props} className="grid grid-cols-[minmax(0,1fr)] gap-5">
        <div className="mx-auto rounded-control border border-line bg-[#ffffff] p-1">
          <QRCodeSVG
            role="img"
            aria-label={t('factor.app.qr')}
            value={setup.uri}
            level="M"
            size={200}
            marginSize={4}
            fgColor="#17211D"
            bgColor="#FFFFFF"
          />
        </div>
        <div>
          <p className="text-muted text-small">{t('factor.app.type')}</p>
          <div className="mt-2 flex flex-wrap items-center gap-2 rounded-control bg-sunk p-2 pl-4">
            <code
              data-testid="app-secret"
              className="min-w-0 flex-1 basis-52 break-words font-mono text-[13px]"
            >
              {setup.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}
            </code>
            <CopyButton text={setup.secret} />
          </div>
        </div>
        <CodeField
          label={t('factor.app.code')}
          problem={problem ? t(`factor.problem.${problem}`) : null}
        />
        <DialogActions
          action={t('factor.app.confirm')}
          busy={t('factor.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}

interface PasskeyDialogProps {
  onClose: () => void
  onDone: (codes: string[] | null) => void
}

export function PasskeyDialog({ onClose, onDone }: PasskeyDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [isDismissed, setDismissed] = useState(false)
  const form = useForm({
    schema: passkeyName,
    read: data => ({ name: String(data.get('name')).trim() || undefined }),
    send: async ({ name }) => {
      setDismissed(false)
      const { data: challenge } = await api.post('/person/passkeys/options')
      const created = await registerPasskey(challenge)
      if (!created) return setDismissed(true)
      const response = await api.post('/person/passkeys', { body: { name, ...created } })
      onDone(response.data.recovery_codes)
    },
  })
  return (
    <Dialog
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

interface RecoveryCodesDialogProps {
  codes: string[]
  email: string
  onClose: () => void
}

export function RecoveryCodesDialog({ codes, email, onClose }: RecoveryCodesDialogProps) {
  const t = useTranslations('factor')
  const text = `${t('codes.file', { email })}\n\n${codes.join('\n')}\n`
  const save = () => saveAs(new Blob([text], { type: 'text/plain' }), t('codes.fileName'))
  return (
    <SecretDialog
      title={t('codes.dialogTitle')}
      description={t('codes.dialogText')}
      savedLabel={t('codes.done')}
      onSaved={onClose}
    >
      <ul
        data-testid="recovery-codes"
        className="grid grid-cols-2 gap-x-4 gap-y-2 rounded-control bg-sunk px-4 py-4 text-center font-mono text-[15px]"
      >
        {codes.map(code => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className="flex flex-wrap gap-3">
        <CopyButton text={text} label={t('codes.copy')} />
        <Button variant="quiet" onClick={save}>
          <Download size={16} aria-hidden />
          {t('codes.save')}
        </Button>
      </div>
    </SecretDialog>
  )
}

interface RenewCodesDialogProps {
  methods: Factor[]
  onClose: () => void
  onDone: (codes: string[]) => void
}

/** Requires a second factor even after a recent proof: recovery codes replace the second factor. */
export function RenewCodesDialog({ methods, onClose, onDone }: RenewCodesDialogProps) {
  const t = useTranslations('factor')
  const api = useApi()
  return (
    <Dialog onClose={onClose} title={t('codes.renewTitle')} description={t('codes.renewText')}>
      <FactorForm
        methods={methods}
        onProof={async body => {
          const response = await api.post('/person/recovery-codes', { body })
          onDone(response.data.recovery_codes)
        }}
      />
    </Dialog>
  )
}

interface RemoveFactorDialogProps {
  /** Passkey to remove; null to remove the authenticator app. */
  passkey: ShownPasskey | null
  isLast: boolean
  onClose: () => void
  onDone: () => void
}

export function RemoveFactorDialog({ passkey, isLast, onClose, onDone }: RemoveFactorDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const removal = useMutation({
    mutationFn: () =>
      passkey
        ? api.delete('/person/passkeys/[id]', { params: { id: passkey.id } })
        : api.delete('/person/authenticator'),
    onSuccess: onDone,
  })
  const title = passkey
    ? t('factor.passkey.removeTitle', { name: passkey.name })
    : t('factor.app.removeTitle')
  return (
    <Dialog
      onClose={onClose}
      title={title}
      description={isLast ? t('factor.removeLast') : t('factor.removeOther')}
    >
      <div className="grid gap-5">
        <DialogActions
          action={passkey ? t('factor.passkey.remove') : t('factor.app.remove')}
          busy={t('factor.busy')}
          isBusy={removal.isPending || removal.isSuccess}
          failure={removal.error}
          isDestructive
          onCancel={onClose}
          onConfirm={() => removal.mutate()}
        />
      </div>
    </Dialog>
  )
}
