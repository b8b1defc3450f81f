'use client'

import { useTranslations } from 'next-intl'
import { QRCodeSVG } from 'qrcode.react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { CodeField } from '#components/proof/code-field.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { codeProof } from '#lib/people/schema.ts'

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
      const response = await api.send<{ data: ConfirmedFactor }>('POST', path, { body })
      onDone(response.data.recovery_codes)
    },
  })
  const { code: problem } = form.problems
  return (
    <Dialog
      isOpen
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

interface ConfirmedFactor {
  recovery_codes: string[] | null
}
