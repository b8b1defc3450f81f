'use client'

import { KeyRound } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { CodeField } from '#components/proof/code-field.tsx'
import { type PasskeyChallenge, requestPasskey } from '#components/proof/passkey-calls.ts'
import { usePasskeySupport } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { codeProof, type Factor, type FactorProof } from '#lib/people/schema.ts'

type Options = Parameters<typeof requestPasskey>[0]['options']

/** Unique id, because the page below the dialog may also have a field named `code`. */
const CODE_FIELD_ID = 'proof-code'

interface FactorFormProps {
  methods: Factor[]
  onProof: (proof: FactorProof) => Promise<void>
}

export function FactorForm({ methods, onProof }: FactorFormProps) {
  const t = useTranslations('proof')
  const api = useApi()
  const hasPasskeySupport = usePasskeySupport()
  const [failure, setFailure] = useState<unknown>(null)
  const [isPasskeyPending, setPasskeyPending] = useState(false)
  const hasApp = methods.includes('code')
  const [isRecovery, setRecovery] = useState(!hasApp)
  const canUsePasskey = methods.includes('passkey') && hasPasskeySupport !== false
  // Users with only passkeys enter a recovery code if no passkey is available.
  const [isTyping, setTyping] = useState(hasApp)
  const hasField = isTyping || !canUsePasskey
  // biome-ignore lint/correctness/useExhaustiveDependencies: the focus moves when the field changes
  useEffect(() => document.getElementById(CODE_FIELD_ID)?.focus(), [isRecovery, hasField])
  const form = useForm({
    schema: codeProof,
    read: data => ({ code: data.get('code') || undefined }),
    send: onProof,
  })
  async function proveWithPasskey() {
    setPasskeyPending(true)
    setFailure(null)
    try {
      const challengeResponse = await api.send<{ data: PasskeyChallenge<Options> }>(
        'POST',
        '/person/proof/passkey',
      )
      const proof = await requestPasskey(challengeResponse.data)
      if (proof) await onProof(proof)
    } catch (error) {
      setFailure(error)
    } finally {
      setPasskeyPending(false)
    }
  }
  const { code: problem } = form.problems
  const isBusy = form.isBusy || isPasskeyPending
  return (
    <form {...form.props} className="grid gap-5">
      <Problem error={failure ?? form.failure} />
      {hasField ? (
        <>
          <CodeField
            key={String(isRecovery)}
            id={CODE_FIELD_ID}
            label={isRecovery ? t('recovery') : t('code')}
            isRecovery={isRecovery}
            problem={problem ? t(`codeProblem.${problem}`) : null}
          />
          <Button variant="primary" type="submit" disabled={isBusy}>
            {isBusy ? t('busy') : t('confirm')}
          </Button>
        </>
      ) : null}
      {canUsePasskey ? (
        <Button
          variant={hasField ? 'quiet' : 'primary'}
          disabled={isBusy || hasPasskeySupport === null}
          onClick={proveWithPasskey}
        >
          <KeyRound size={16} aria-hidden />
          {t('usePasskey')}
        </Button>
      ) : null}
      {hasApp || !hasField ? (
        <Button
          variant="plain"
          onClick={() => {
            setTyping(true)
            setRecovery(!hasApp || !isRecovery)
          }}
          className="-my-2 -ml-2.5 justify-self-start"
        >
          {hasApp && isRecovery ? t('useCode') : t('useRecovery')}
        </Button>
      ) : null}
    </form>
  )
}
