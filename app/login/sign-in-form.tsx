'use client'

import { CircleAlert, KeyRound } from 'lucide-react'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { SecondStep, type SecondStepLabels } from '#app/login/second-step.tsx'
import {
  type PendingSecondStep,
  type SignInOutcome,
  type SignInWait,
  signIn,
  signInWithPasskey,
} from '#components/form/auth-calls.ts'
import { delayText } from '#components/format/duration.ts'
import { usePasskeySupport } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/notice.tsx'

interface SignInFormProps {
  labels: {
    email: string
    password: string
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
    await attempt(() => signIn({ email: typedEmail, password }))
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
        onCode={code => attempt(() => signIn({ challenge: step.challenge, code }))}
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
        <Field
          label={labels.password}
          name="password"
          type="password"
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
