'use client'

import { CircleCheck, CircleMinus, KeyRound, LifeBuoy, Smartphone } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import type { AppBegun } from '#app/[mode]/settings/security/app-dialog.tsx'
import { FactorRow, PasskeyRows } from '#app/[mode]/settings/security/factor-rows.tsx'
import { useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { useCanPasskeys } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import type { Factors, ShownPasskey } from '#lib/services/people/schema.ts'

const AppDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/app-dialog.tsx')).AppDialog,
)
const PasskeyDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/passkey-dialog.tsx')).PasskeyDialog,
)
const RemoveDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/remove-dialog.tsx')).RemoveDialog,
)
const RenewDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/renew-dialog.tsx')).RenewDialog,
)
const CodesDialog = dynamic(
  async () => (await import('#app/[mode]/settings/security/codes-dialog.tsx')).CodesDialog,
)

type Open =
  | { kind: 'app'; begun: AppBegun }
  | { kind: 'passkey' }
  | { kind: 'remove'; passkey: ShownPasskey | null }
  | { kind: 'renew' }
  | { kind: 'codes'; codes: string[] }

export function SecondFactor({ factors, email }: { factors: Factors; email: string }) {
  const t = useTranslations('factor')
  const api = useApi()
  const router = useRouter()
  const canPasskeys = useCanPasskeys()
  const [open, setOpen] = useState<Open | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const { hasApp, passkeys, codesLeft } = factors
  const methods = (['code', 'passkey'] as const).filter(name =>
    name === 'code' ? hasApp : passkeys.length > 0,
  )
  const close = () => setOpen(null)
  const finish = (codes: string[] | null) => {
    setOpen(codes ? { kind: 'codes', codes } : null)
    router.refresh()
  }
  async function begin() {
    setFailure(null)
    try {
      const { data } = await api.send<{ data: AppBegun }>('POST', '/person/authenticator')
      setOpen({ kind: 'app', begun: data })
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
          <Button look="quiet" onClick={() => setOpen({ kind: 'remove', passkey: null })}>
            {t('app.remove')}
          </Button>
        ) : (
          <Button look="quiet" onClick={begin}>
            {t('app.begin')}
          </Button>
        )}
      </FactorRow>
      <FactorRow
        icon={KeyRound}
        title={t('passkey.title')}
        text={canPasskeys === false ? t('passkey.cannot') : t('passkey.text')}
        below={
          <PasskeyRows
            passkeys={passkeys}
            onRemove={passkey => setOpen({ kind: 'remove', passkey })}
          />
        }
      >
        {canPasskeys === false ? null : (
          <Button
            look="quiet"
            disabled={canPasskeys === null}
            onClick={() => setOpen({ kind: 'passkey' })}
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
          <Button look="quiet" onClick={() => setOpen({ kind: 'renew' })}>
            {t('codes.renew')}
          </Button>
        </FactorRow>
      ) : null}
      {open?.kind === 'app' ? (
        <AppDialog begun={open.begun} onClose={close} onDone={finish} />
      ) : null}
      {open?.kind === 'passkey' ? <PasskeyDialog onClose={close} onDone={finish} /> : null}
      {open?.kind === 'remove' ? (
        <RemoveDialog
          passkey={open.passkey}
          isLast={passkeys.length + (hasApp ? 1 : 0) === 1}
          onClose={close}
          onDone={() => finish(null)}
        />
      ) : null}
      {open?.kind === 'renew' ? (
        <RenewDialog methods={methods} onClose={close} onDone={finish} />
      ) : null}
      {open?.kind === 'codes' ? (
        <CodesDialog codes={open.codes} email={email} onClose={close} />
      ) : null}
    </div>
  )
}
