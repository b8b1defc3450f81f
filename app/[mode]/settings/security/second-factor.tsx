'use client'

import { CircleCheck, CircleMinus, KeyRound, LifeBuoy, Smartphone } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import type { AuthenticatorSetup } from '#app/[mode]/settings/security/authenticator-dialog.tsx'
import { FactorRow, PasskeyRows } from '#app/[mode]/settings/security/factor-rows.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { usePasskeySupport } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { Factors, ShownPasskey } from '#lib/people/schema.ts'

const AuthenticatorDialog = dynamic(
  async () =>
    (await import('#app/[mode]/settings/security/authenticator-dialog.tsx')).AuthenticatorDialog,
)
const PasskeyDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/passkey-dialog.tsx')).PasskeyDialog,
)
const RemoveDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/remove-dialog.tsx')).RemoveDialog,
)
const RenewCodesDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/renew-dialog.tsx')).RenewCodesDialog,
)
const RecoveryCodesDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/codes-dialog.tsx')).RecoveryCodesDialog,
)

type OpenDialog =
  | { kind: 'app'; setup: AuthenticatorSetup }
  | { kind: 'passkey' }
  | { kind: 'remove'; passkey: ShownPasskey | null }
  | { kind: 'renew' }
  | { kind: 'codes'; codes: string[] }

export function SecondFactor({ factors, email }: { factors: Factors; email: string }) {
  const t = useTranslations('factor')
  const api = useApi()
  const router = useRouter()
  const hasPasskeySupport = usePasskeySupport()
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const { hasApp, passkeys, codesLeft } = factors
  const methods = (['code', 'passkey'] as const).filter(name =>
    name === 'code' ? hasApp : passkeys.length > 0,
  )
  const close = () => setOpenDialog(null)
  const finish = (codes: string[] | null) => {
    setOpenDialog(codes ? { kind: 'codes', codes } : null)
    router.refresh()
  }
  async function beginSetup() {
    setFailure(null)
    try {
      const { data } = await api.send<{ data: AuthenticatorSetup }>('POST', '/person/authenticator')
      setOpenDialog({ kind: 'app', setup: data })
    } catch (error) {
      setFailure(error)
    }
  }
  return (
    <div className="-my-5 md:-my-6">
      {failure ? (
        <div className="pt-5">
          <Problem error={failure} />
        </div>
      ) : null}
      <FactorRow
        icon={Smartphone}
        title={t('app.title')}
        text={hasApp ? t('app.textOn') : t('app.text')}
        state={
          <Chip tone={hasApp ? 'ok' : 'off'} icon={hasApp ? CircleCheck : CircleMinus}>
            {hasApp ? t('on') : t('off')}
          </Chip>
        }
      >
        {hasApp ? (
          <Button variant="quiet" onClick={() => setOpenDialog({ kind: 'remove', passkey: null })}>
            {t('app.remove')}
          </Button>
        ) : (
          <Button variant="quiet" onClick={beginSetup}>
            {t('app.begin')}
          </Button>
        )}
      </FactorRow>
      <FactorRow
        icon={KeyRound}
        title={t('passkey.title')}
        text={hasPasskeySupport === false ? t('passkey.cannot') : t('passkey.text')}
        below={
          <PasskeyRows
            passkeys={passkeys}
            onRemove={passkey => setOpenDialog({ kind: 'remove', passkey })}
          />
        }
      >
        {hasPasskeySupport === false ? null : (
          <Button
            variant="quiet"
            disabled={hasPasskeySupport === null}
            onClick={() => setOpenDialog({ kind: 'passkey' })}
          >
            {t('passkey.add')}
          </Button>
        )}
      </FactorRow>
      {methods.length > 0 ? (
        <FactorRow
          icon={LifeBuoy}
          title={t('codes.title')}
          text={t('codes.left', { count: codesLeft })}
        >
          <Button variant="quiet" onClick={() => setOpenDialog({ kind: 'renew' })}>
            {t('codes.renew')}
          </Button>
        </FactorRow>
      ) : null}
      {openDialog?.kind === 'app' ? (
        <AuthenticatorDialog setup={openDialog.setup} onClose={close} onDone={finish} />
      ) : null}
      {openDialog?.kind === 'passkey' ? <PasskeyDialog onClose={close} onDone={finish} /> : null}
      {openDialog?.kind === 'remove' ? (
        <RemoveDialog
          passkey={openDialog.passkey}
          isLast={passkeys.length + (hasApp ? 1 : 0) === 1}
          onClose={close}
          onDone={() => finish(null)}
        />
      ) : null}
      {openDialog?.kind === 'renew' ? (
        <RenewCodesDialog methods={methods} onClose={close} onDone={finish} />
      ) : null}
      {openDialog?.kind === 'codes' ? (
        <RecoveryCodesDialog codes={openDialog.codes} email={email} onClose={close} />
      ) : null}
    </div>
  )
}
