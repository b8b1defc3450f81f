'use client'

import { CircleAlert } from 'lucide-react'
import { type SubmitEvent, useEffect, useRef, useState } from 'react'
import { type SignInOutcome, signIn } from '#components/auth-calls.ts'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/notice.tsx'

interface SignInFormProps {
  words: { email: string; password: string; submit: string; busy: string }
  problems: Record<Exclude<SignInOutcome, 'ok'>, string>
  /** Where one was on the way to. */
  next: string
}

export function SignInForm({ words, problems, next }: SignInFormProps) {
  const [outcome, setOutcome] = useState<SignInOutcome | null>(null)
  const [busy, setBusy] = useState(false)
  const [ready, setReady] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => setReady(true), [])

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    setBusy(true)
    const given = new FormData(event.currentTarget)
    const result = await signIn(String(given.get('email')), String(given.get('password')))
    // A whole new page: nothing that this one cached belongs to whoever signed in now.
    if (result === 'ok') return location.assign(next)
    setOutcome(result)
    setBusy(false)
    form.current?.querySelector<HTMLInputElement>('[name=password]')?.select()
  }

  const problem = outcome && outcome !== 'ok' ? problems[outcome] : null
  const wrong = outcome === 'wrong' || undefined
  return (
    <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
      {problem ? (
        <Notice tone="bad" icon={CircleAlert} role="alert">
          {problem}
        </Notice>
      ) : null}
      <Field
        label={words.email}
        name="email"
        type="email"
        autoComplete="username"
        required
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
      {/* Until React is here a press would send the form the browser's way, which leads nowhere. */}
      <Button look="primary" type="submit" disabled={!ready || busy} className="h-11 w-full">
        {busy ? words.busy : words.submit}
      </Button>
    </form>
  )
}
