'use client'

import { KeyRound } from 'lucide-react'
import { type ReactNode, type SubmitEvent, useEffect, useRef, useState } from 'react'
import { CodeField } from '#components/proof/code-field.tsx'
import { Button } from '#components/ui/button.tsx'

export type SecondStepWords = Record<
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

type Way = 'code' | 'recovery' | 'passkey'

interface SecondStepProps {
  words: SecondStepWords
  notice: ReactNode
  isBusy: boolean
  /** False until hydration: a submit by the browser itself does not work. */
  isReady: boolean
  hasApp: boolean
  onCode: (code: string) => Promise<void>
  /** Null: no passkey is registered, or this browser does not support them. */
  onPasskey: (() => Promise<void>) | null
  /** Clears the error of the previous method. */
  onSwitch: () => void
  onBack: () => void
}

export function SecondStep({
  words,
  notice,
  isBusy,
  isReady,
  hasApp,
  onCode,
  onPasskey,
  onSwitch,
  onBack,
}: SecondStepProps) {
  const [wanted, setWay] = useState<Way>(hasApp ? 'code' : onPasskey ? 'passkey' : 'recovery')
  const way = wanted === 'passkey' && !onPasskey ? 'recovery' : wanted
  const form = useRef<HTMLFormElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each way has its own first element
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('input, button')?.focus()
  }, [way])
  const ways: Way[] = ['code', 'passkey', 'recovery']
  const may = { code: hasApp, passkey: onPasskey !== null, recovery: true }
  const others = { code: words.useCode, passkey: words.usePasskey, recovery: words.useRecovery }

  async function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    if (way === 'passkey') return onPasskey?.()
    await onCode(String(new FormData(event.currentTarget).get('code')))
    form.current?.querySelector('input')?.select()
  }

  return (
    <form ref={form} method="post" onSubmit={submit} className="grid gap-5">
      <div>
        <h2 className="text-title">{words.title}</h2>
        <p className="mt-1 text-muted text-small">{words[`${way}Text`]}</p>
      </div>
      {notice}
      {way === 'passkey' ? null : (
        <CodeField key={way} label={words[way]} isRecovery={way === 'recovery'} />
      )}
      <Button look="primary" type="submit" disabled={!isReady || isBusy} className="h-11 w-full">
        {way === 'passkey' ? <KeyRound size={16} aria-hidden /> : null}
        {isBusy ? words.busy : way === 'passkey' ? words.passkey : words.confirm}
      </Button>
      <div className="-mb-2 grid justify-items-start border-line border-t pt-3 [&>button]:-ml-2.5">
        {ways
          .filter(one => one !== way && may[one])
          .map(one => (
            <Button
              key={one}
              look="plain"
              disabled={isBusy}
              onClick={() => {
                setWay(one)
                onSwitch()
              }}
            >
              {others[one]}
            </Button>
          ))}
        <Button look="plain" disabled={isBusy} onClick={onBack}>
          {words.back}
        </Button>
      </div>
    </form>
  )
}
