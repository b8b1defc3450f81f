'use client'

import { useMutation } from '@tanstack/react-query'
import {
  CircleCheck,
  CircleMinus,
  KeyRound,
  LifeBuoy,
  type LucideIcon,
  Smartphone,
} from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import type { AuthenticatorSetup } from '#app/[mode]/settings/security/dialogs.tsx'
import { Problem } from '#components/api/problem.tsx'
import { usePasskeySupport } from '#components/api/sign-in.ts'
import { useApi } from '#components/api/use-api.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type { Factors, ShownPasskey } from '#lib/people/schema.ts'

const loadDialogs = () => import('#app/[mode]/settings/security/dialogs.tsx')
const AuthenticatorDialog = lazyDialog(loadDialogs, 'AuthenticatorDialog')
const PasskeyDialog = lazyDialog(loadDialogs, 'PasskeyDialog')
const RemoveFactorDialog = lazyDialog(loadDialogs, 'RemoveFactorDialog')
const RenewCodesDialog = lazyDialog(loadDialogs, 'RenewCodesDialog')
const RecoveryCodesDialog = lazyDialog(loadDialogs, 'RecoveryCodesDialog')

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
  const { hasApp, passkeys, codesLeft } = factors
  const methods = (['code', 'passkey'] as const).filter(name =>
    name === 'code' ? hasApp : passkeys.length > 0,
  )
  const close = () => setOpenDialog(null)
  const finish = (codes: string[] | null) => {
    setOpenDialog(codes ? { kind: 'codes', codes } : null)
    router.refresh()
  }
  const setup = useMutation({
    mutationFn: () => api.post('/person/authenticator'),
    onSuccess: ({ data }) => setOpenDialog({ kind: 'app', setup: data }),
  })
  return (
    <div className="-my-5 md:-my-6">
      {setup.error ? (
        <div className="pt-5">
          <Problem error={setup.error} />
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
          <Button variant="quiet" onClick={() => setup.mutate()}>
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
        <RemoveFactorDialog
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

interface PasskeyRowsProps {
  passkeys: ShownPasskey[]
  onRemove: (passkey: ShownPasskey) => void
}

function PasskeyRows({ passkeys, onRemove }: PasskeyRowsProps) {
  const t = useTranslations('factor')
  if (passkeys.length === 0) return null
  return (
    <ul
      aria-label={t('passkey.title')}
      className="mt-4 rounded-control border border-line2 sm:ml-[38px]"
    >
      {passkeys.map(passkey => (
        <li
          key={passkey.id}
          className="flex items-center gap-3 border-line py-2 pr-2 pl-3.5 not-first:border-t"
        >
          <div className="min-w-0 flex-1">
            <p className="break-words font-medium">{passkey.name}</p>
            <p className="text-muted text-small">
              {passkey.lastUsedAt
                ? t.rich('passkey.used', {
                    when: () => <RelativeTime at={passkey.lastUsedAt ?? ''} />,
                  })
                : t.rich('passkey.added', { when: () => <RelativeTime at={passkey.createdAt} /> })}
            </p>
          </div>
          <Button
            variant="plain"
            aria-label={t('passkey.removeNamed', { name: passkey.name })}
            onClick={() => onRemove(passkey)}
          >
            {t('passkey.remove')}
          </Button>
        </li>
      ))}
    </ul>
  )
}

interface FactorRowProps {
  icon: LucideIcon
  title: string
  text: string
  state?: ReactNode
  children: ReactNode
  below?: ReactNode
}

function FactorRow({ icon: Icon, title, text, state, children, below }: FactorRowProps) {
  return (
    <div className="border-line py-5 not-first:border-t">
      <div className="flex flex-wrap items-start gap-x-5 gap-y-3">
        <Icon size={18} aria-hidden className="mt-0.5 shrink-0 text-muted max-sm:hidden" />
        <div className="min-w-0 flex-1 max-sm:basis-full">
          <h3 className="flex flex-wrap items-center gap-x-2.5 gap-y-1 font-semibold">
            {title}
            {state}
          </h3>
          <p className="mt-1 max-w-[60ch] text-muted text-small">{text}</p>
        </div>
        {children}
      </div>
      {below}
    </div>
  )
}
