'use client'

import { KeyRound } from 'lucide-react'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { CodeField } from '#components/proof/code-field.tsx'
import { Button } from '#components/ui/button.tsx'

export type SecondStepLabels = Record<
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

export function SecondStep({
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
