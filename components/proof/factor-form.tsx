'use client'

import { KeyRound } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { CodeField } from '#components/proof/code-field.tsx'
import { type Asked, showPasskey } from '#components/proof/passkey-calls.ts'
import { useCanPasskeys } from '#components/proof/use-passkeys.ts'
import { Button } from '#components/ui/button.tsx'
import { codeProof, type Factor, type FactorProof } from '#lib/services/people/schema.ts'

type Options = Parameters<typeof showPasskey>[0]['options']

/** An id of its own: the dialog may cover a form that also asks for a code. */
const CODE = 'proof-code'

interface FactorFormProps {
  methods: Factor[]
  onShown: (answer: FactorProof) => Promise<void>
}

export function FactorForm({ methods, onShown }: FactorFormProps) {
  const t = useTranslations('proof')
  const api = useApi()
  const canPasskeys = useCanPasskeys()
  const [failure, setFailure] = useState<unknown>(null)
  const [isAsking, setAsking] = useState(false)
  const hasApp = methods.includes('code')
  const [isRecovery, setRecovery] = useState(!hasApp)
  const mayShow = methods.includes('passkey') && canPasskeys !== false
  // Users who have only passkeys enter a recovery code when no passkey is at hand.
  const [isTyping, setTyping] = useState(hasApp)
  const hasField = isTyping || !mayShow
  // biome-ignore lint/correctness/useExhaustiveDependencies: each field is another one
  useEffect(() => document.getElementById(CODE)?.focus(), [isRecovery, hasField])
  const form = useForm({
    schema: codeProof,
    read: data => ({ code: data.get('code') || undefined }),
    send: onShown,
  })
  async function ask() {
    setAsking(true)
    setFailure(null)
    try {
      const asked = await api.send<{ data: Asked<Options> }>('POST', '/person/proof/passkey')
      const shown = await showPasskey(asked.data)
      if (shown) await onShown(shown)
    } catch (error) {
      setFailure(error)
    } finally {
      setAsking(false)
    }
  }
  const { code: problem } = form.problems
  const isBusy = form.isBusy || isAsking
  return (
    <form {...form.props} className="grid gap-5">
      <Problem error={failure ?? form.failure} />
      {hasField ? (
        <>
          <CodeField
            key={String(isRecovery)}
            id={CODE}
            label={isRecovery ? t('recovery') : t('code')}
            isRecovery={isRecovery}
            problem={problem ? t(`codeProblem.${problem}`) : null}
          />
          <Button look="primary" type="submit" disabled={isBusy}>
            {isBusy ? t('busy') : t('confirm')}
          </Button>
        </>
      ) : null}
      {mayShow ? (
        <Button
          look={hasField ? 'quiet' : 'primary'}
          disabled={isBusy || canPasskeys === null}
          onClick={ask}
        >
          <KeyRound size={16} aria-hidden />
          {t('usePasskey')}
        </Button>
      ) : null}
      {hasApp || !hasField ? (
        <Button
          look="plain"
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
