'use client'

import { useMutation, useQuery } from '@tanstack/react-query'
import { KeyRound } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { ApiError, SESSION_ENDED_EVENT } from '#components/api/client.ts'
import { Problem } from '#components/api/problem.tsx'
import { signOut, usePasskeySupport } from '#components/api/sign-in.ts'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { requestPasskey } from '#components/proof/passkey-calls.ts'
import { personQueries } from '#components/queries/people.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { CodeField, PasswordField } from '#components/ui/field.tsx'
import {
  codeProof,
  type Factor,
  type FactorProof,
  type ProofRequest,
  passwordProof,
} from '#lib/people/schema.ts'

export function ProofDialog({ onEnd }: { onEnd: (isProved: boolean) => void }) {
  const t = useTranslations('proof')
  const api = useApi()
  const { data: methods, error } = useQuery(personQueries.proofMethods(api))
  const prove = async (body: ProofRequest) => {
    await api.post('/person/proof', { body })
    onEnd(true)
  }
  const factors = (methods ?? []).filter(method => method !== 'password')
  return (
    <Dialog
      onClose={() => onEnd(false)}
      title={t('title')}
      description={methods?.length === 0 ? t('none') : t('text')}
    >
      {/* Minimum height of the loading form, to avoid a layout shift. */}
      <div aria-busy={!methods && !error} className={methods ? '' : 'min-h-[138px]'}>
        <Problem error={error} />
        {factors.length > 0 ? (
          <FactorForm methods={factors} onProof={prove} />
        ) : methods && methods.length > 0 ? (
          <PasswordProof onProof={prove} />
        ) : null}
        {methods?.length === 0 ? <SignInAgain /> : null}
      </div>
    </Dialog>
  )
}

function PasswordProof({ onProof }: { onProof: (body: ProofRequest) => Promise<void> }) {
  const t = useTranslations('proof')
  const ui = useTranslations('ui')
  useEffect(() => document.getElementById('proof-password')?.focus(), [])
  const { problems, failure, isBusy, props } = useForm({
    schema: passwordProof,
    read: data => ({ password: data.get('password') || undefined }),
    send: onProof,
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <PasswordField
        label={t('password')}
        id="proof-password"
        name="password"
        showLabel={ui('show')}
        autoComplete="current-password"
        problem={problems.password ? t(`problem.${problems.password}`) : null}
      />
      <Button variant="primary" type="submit" disabled={isBusy}>
        {isBusy ? t('busy') : t('confirm')}
      </Button>
    </form>
  )
}

/** Signs out, because /login redirects signed-in users; the new session then counts as a proof. */
function SignInAgain() {
  const t = useTranslations('proof')
  const ending = useMutation({
    mutationFn: async () => {
      if (!(await signOut())) throw new ApiError(0, 'network')
    },
    onSuccess: () => {
      dispatchEvent(new Event(SESSION_ENDED_EVENT))
      const currentPath = location.pathname + location.search
      location.assign(`/login?proof&next=${encodeURIComponent(currentPath)}`)
    },
  })
  return (
    <div className="grid gap-5">
      <Problem error={ending.error} />
      <Button
        variant="primary"
        disabled={ending.isPending || ending.isSuccess}
        onClick={() => ending.mutate()}
      >
        {t('signIn')}
      </Button>
    </div>
  )
}

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
  const passkey = useMutation({
    mutationFn: async () => {
      const challengeResponse = await api.post('/person/proof/passkey')
      const proof = await requestPasskey(challengeResponse.data)
      if (proof) await onProof(proof)
    },
  })
  const { code: problem } = form.problems
  const isBusy = form.isBusy || passkey.isPending
  return (
    <form {...form.props} className="grid gap-5">
      <Problem error={passkey.error ?? form.failure} />
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
          onClick={() => passkey.mutate()}
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
