'use client'

import { Building2, CircleAlert, KeyRound } from 'lucide-react'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import {
  fetchProviderUrl,
  type PendingSecondStep,
  type SignInOutcome,
  type SignInWait,
  sendSignIn,
  signInWithPasskey,
  usePasskeySupport,
} from '#components/api/sign-in.ts'
import { delayText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { CodeField, Field, PasswordField } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'

interface SignInFormProps {
  labels: {
    email: string
    password: string
    show: string
    submit: string
    busy: string
    passkey: string
    step: SecondStepLabels
  }
  /** Sentences; `{time}` in those about too many attempts stands for the time to wait. */
  problems: Record<Exclude<SignInOutcome, 'ok'> | 'passkey' | 'locked' | 'locked_code', string>
  next: string
  /** Second step that is still required after returning from a provider. */
  initialStep: PendingSecondStep | null
  children: ReactNode
}

export function SignInForm({ labels, problems, next, initialStep, children }: SignInFormProps) {
  const [problem, setProblem] = useState<keyof typeof problems | null>(null)
  const [waitS, setWaitS] = useState(0)
  const [step, setStep] = useState<PendingSecondStep | null>(initialStep)
  const [email, setEmail] = useState('')
  const [isBusy, setBusy] = useState(false)
  const hasPasskeySupport = usePasskeySupport()
  const form = useRef<HTMLFormElement>(null)
  // After an expired second step, the password is required again.
  useEffect(() => {
    if (problem === 'challenge_ended') findPasswordInput(form.current)?.focus()
  }, [problem])

  async function attempt(
    signInCall: () => Promise<SignInOutcome | SignInWait | PendingSecondStep | null>,
    isPasskey = false,
  ) {
    setBusy(true)
    const outcome = await signInCall()
    // Full page load, because the cached data may belong to another user.
    if (outcome === 'ok') return location.assign(next)
    setBusy(false)
    if (outcome !== null && typeof outcome === 'object' && 'waitS' in outcome) {
      setWaitS(outcome.waitS)
      return setProblem(step ? 'locked_code' : 'locked')
    }
    if (outcome !== null && typeof outcome === 'object') {
      setProblem(null)
      return setStep(outcome)
    }
    if (outcome === 'challenge_ended') setStep(null)
    setProblem(outcome === 'wrong' && isPasskey ? 'passkey' : outcome)
  }
  const attemptPasskey = () => attempt(() => signInWithPasskey(step), true)

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const [typedEmail, password] = [String(data.get('email')), String(data.get('password'))]
    setEmail(typedEmail)
    await attempt(() => sendSignIn({ email: typedEmail, password }))
    findPasswordInput(form.current)?.select()
  }

  const notice = problem ? (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {problems[problem].replace('{time}', delayText(waitS))}
    </Notice>
  ) : null
  if (step) {
    return (
      <SecondStep
        labels={labels.step}
        notice={notice}
        isBusy={isBusy}
        hasApp={step.methods.includes('code')}
        onCode={code => attempt(() => sendSignIn({ challenge: step.challenge, code }))}
        onPasskey={
          hasPasskeySupport !== false && step.methods.includes('passkey') ? attemptPasskey : null
        }
        onSwitch={() => setProblem(null)}
        onBack={() => {
          setStep(null)
          setProblem(null)
        }}
      />
    )
  }
  const isInvalid = problem === 'wrong' || undefined
  return (
    <>
      <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
        {notice}
        <Field
          label={labels.email}
          name="email"
          type="email"
          autoComplete="username"
          required
          defaultValue={email}
          aria-invalid={isInvalid}
        />
        <PasswordField
          label={labels.password}
          name="password"
          showLabel={labels.show}
          autoComplete="current-password"
          required
          aria-invalid={isInvalid}
        />
        <div className="grid gap-3">
          <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
            {isBusy ? labels.busy : labels.submit}
          </Button>
          {hasPasskeySupport === false ? null : (
            <Button
              variant="quiet"
              disabled={hasPasskeySupport === null || isBusy}
              onClick={attemptPasskey}
              className="h-11 w-full"
            >
              <KeyRound size={16} aria-hidden />
              {labels.passkey}
            </Button>
          )}
        </div>
      </form>
      {children}
    </>
  )
}

function findPasswordInput(form: HTMLFormElement | null) {
  return form?.querySelector<HTMLInputElement>('[name=password]')
}

type SecondStepLabels = Record<
  | 'title'
  | 'codeText'
  | 'code'
  | 'recoveryText'
  | 'recovery'
  | 'passkeyText'
  | 'passkey'
  | 'confirm'
  | 'busy'
  | 'useCode'
  | 'useRecovery'
  | 'usePasskey'
  | 'back',
  string
>

type SecondStepMethod = 'code' | 'recovery' | 'passkey'

interface SecondStepProps {
  labels: SecondStepLabels
  notice: ReactNode
  isBusy: boolean
  hasApp: boolean
  onCode: (code: string) => Promise<void>
  /** Null if no passkey is registered or the browser does not support passkeys. */
  onPasskey: (() => Promise<void>) | null
  onSwitch: () => void
  onBack: () => void
}

function SecondStep({
  labels,
  notice,
  isBusy,
  hasApp,
  onCode,
  onPasskey,
  onSwitch,
  onBack,
}: SecondStepProps) {
  const [chosenMethod, setChosenMethod] = useState<SecondStepMethod>(
    hasApp ? 'code' : onPasskey ? 'passkey' : 'recovery',
  )
  const method = chosenMethod === 'passkey' && !onPasskey ? 'recovery' : chosenMethod
  const form = useRef<HTMLFormElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each method has its own first element
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input, button')?.focus()
  }, [method])
  const methods: SecondStepMethod[] = ['code', 'passkey', 'recovery']
  const isAvailable = { code: hasApp, passkey: onPasskey !== null, recovery: true }
  const switchLabels = {
    code: labels.useCode,
    passkey: labels.usePasskey,
    recovery: labels.useRecovery,
  }

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    if (method === 'passkey') return onPasskey?.()
    await onCode(String(new FormData(event.currentTarget).get('code')))
    form.current?.querySelector('input')?.select()
  }

  return (
    <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
      <div>
        <h2 className="text-title">{labels.title}</h2>
        <p className="mt-1 text-muted text-small">{labels[`${method}Text`]}</p>
      </div>
      {notice}
      {method === 'passkey' ? null : (
        <CodeField key={method} label={labels[method]} isRecovery={method === 'recovery'} />
      )}
      <Button variant="primary" type="submit" disabled={isBusy} className="h-11 w-full">
        {method === 'passkey' ? <KeyRound size={16} aria-hidden /> : null}
        {isBusy ? labels.busy : method === 'passkey' ? labels.passkey : labels.confirm}
      </Button>
      <div className="-mb-2 grid justify-items-start border-line border-t pt-3 [&>button]:-ml-2.5">
        {methods
          .filter(otherMethod => otherMethod !== method && isAvailable[otherMethod])
          .map(otherMethod => (
            <Button
              key={otherMethod}
              variant="plain"
              disabled={isBusy}
              onClick={() => {
                setChosenMethod(otherMethod)
                onSwitch()
              }}
            >
              {switchLabels[otherMethod]}
            </Button>
          ))}
        <Button variant="plain" disabled={isBusy} onClick={onBack}>
          {labels.back}
        </Button>
      </div>
    </form>
  )
}

interface ProviderButtonProps {
  provider: string
  label: string
  failedLabel: string
  next: string
  /** Whether the user signs in again to prove their identity. */
  isProof: boolean
}

/** Signs in by script, because the CSP forbids forms that lead to other sites. */
export function ProviderButton({
  provider,
  label,
  failedLabel,
  next,
  isProof,
}: ProviderButtonProps) {
  const [state, setState] = useState<'waiting' | 'ready' | 'busy' | 'failed'>('waiting')
  useEffect(() => setState('ready'), [])
  async function startSignIn() {
    setState('busy')
    const address = await fetchProviderUrl(provider, next, isProof)
    if (address) location.assign(address)
    else setState('failed')
  }
  return (
    <div className="mt-3 grid gap-3">
      <Button
        variant="quiet"
        onClick={startSignIn}
        disabled={state === 'waiting' || state === 'busy'}
        className="h-11 w-full"
      >
        <Building2 size={16} aria-hidden />
        <span className="truncate">{label}</span>
      </Button>
      {state === 'failed' ? (
        <Notice tone="bad" icon={CircleAlert} role="alert">
          {failedLabel}
        </Notice>
      ) : null}
    </div>
  )
}
