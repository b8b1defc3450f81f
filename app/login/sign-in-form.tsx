'use client'

import { CircleAlert, KeyRound } from 'lucide-react'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { SecondStep, type SecondStepWords } from '#app/login/second-step.tsx'
import {
  type SignInOutcome,
  type Step,
  signIn,
  signInByPasskey,
} from '#components/form/auth-calls.ts'
import { useCanPasskeys } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/notice.tsx'

interface SignInFormProps {
  words: {
    email: string
    password: string
    submit: string
    busy: string
    passkey: string
    step: SecondStepWords
  }
  problems: Record<Exclude<SignInOutcome, 'ok'> | 'passkey', string>
  /** Path to open after signing in. */
  next: string
  /** Second step still required after returning from a provider. */
  firstStep: Step | null
  children: ReactNode
}

/** Asks for the password or a passkey, then for a second factor if one is required. */
export function SignInForm({ words, problems, next, firstStep, children }: SignInFormProps) {
  const [problem, setProblem] = useState<keyof typeof problems | null>(null)
  const [step, setStep] = useState<Step | null>(firstStep)
  const [email, setEmail] = useState('')
  const [busy, setBusy] = useState(false)
  const canPasskeys = useCanPasskeys()
  const form = useRef<HTMLFormElement>(null)
  const ready = canPasskeys !== null
  // After an expired second step, the password is required again.
  useEffect(() => {
    if (problem === 'challenge_ended') passwordIn(form.current)?.focus()
  }, [problem])

  async function attempt(ask: () => Promise<SignInOutcome | Step | null>, byPasskey = false) {
    setBusy(true)
    const outcome = await ask()
    // Full page load: the cached data may belong to another user.
    if (outcome === 'ok') return location.assign(next)
    setBusy(false)
    if (outcome !== null && typeof outcome === 'object') {
      setProblem(null)
      return setStep(outcome)
    }
    if (outcome === 'challenge_ended') setStep(null)
    setProblem(outcome === 'wrong' && byPasskey ? 'passkey' : outcome)
  }
  const showPasskey = () => attempt(() => signInByPasskey(step), true)

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const given = new FormData(event.currentTarget)
    const [typed, password] = [String(given.get('email')), String(given.get('password'))]
    setEmail(typed)
    await attempt(() => signIn({ email: typed, password }))
    passwordIn(form.current)?.select()
  }

  const notice = problem ? (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {problems[problem]}
    </Notice>
  ) : null
  if (step) {
    return (
      <SecondStep
        words={words.step}
        notice={notice}
        isBusy={busy}
        isReady={ready}
        hasApp={step.methods.includes('code')}
        onCode={code => attempt(() => signIn({ challenge: step.challenge, code }))}
        onPasskey={canPasskeys !== false && step.methods.includes('passkey') ? showPasskey : null}
        onSwitch={() => setProblem(null)}
        onBack={() => {
          setStep(null)
          setProblem(null)
        }}
      />
    )
  }
  const wrong = problem === 'wrong' || undefined
  return (
    <>
      <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
        {notice}
        <Field
          label={words.email}
          name="email"
          type="email"
          autoComplete="username"
          required
          defaultValue={email}
          aria-invalid={wrong}
        />
        <Field
          label={words.password}
          name="password"
          type="password"
          autoComplete="current-password"
          required
          aria-invalid={wrong}
        />
        {/* Disabled until hydration: a submit by the browser itself does not work. */}
        <div className="grid gap-3">
          <Button look="primary" type="submit" disabled={!ready || busy} className="h-11 w-full">
            {busy ? words.busy : words.submit}
          </Button>
          {canPasskeys === false ? null : (
            <Button
              look="quiet"
              disabled={!ready || busy}
              onClick={showPasskey}
              className="h-11 w-full"
            >
              <KeyRound size={16} aria-hidden />
              {words.passkey}
            </Button>
          )}
        </div>
      </form>
      {children}
    </>
  )
}

function passwordIn(form: HTMLFormElement | null) {
  return form?.querySelector<HTMLInputElement>('[name=password]')
}
