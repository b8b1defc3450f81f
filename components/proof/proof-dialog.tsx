'use client'

import { useQuery } from '@tanstack/react-query'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { signOut } from '#components/form/auth-calls.ts'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { FactorForm } from '#components/proof/factor-form.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { ApiError, SESSION_ENDED_EVENT } from '#lib/core/call-api.ts'
import { type ProofMethod, type ProofRequest, passwordProof } from '#lib/people/schema.ts'

const PROOF_PATH = '/person/proof'

export function ProofDialog({ onEnd }: { onEnd: (isProved: boolean) => void }) {
  const t = useTranslations('proof')
  const api = useApi()
  const [isOpen, setOpen] = useState(true)
  const close = (isProved: boolean) => {
    setOpen(false)
    onEnd(isProved)
  }
  // Never cached, because factors may have been added or removed meanwhile.
  const { data: methods, error } = useQuery({
    queryKey: ['proof'],
    gcTime: 0,
    staleTime: 0,
    queryFn: async ({ signal }) =>
      (await api.get<{ data: { methods: ProofMethod[] } }>(PROOF_PATH, signal)).data.methods,
  })
  const prove = async (body: ProofRequest) => {
    await api.send('POST', PROOF_PATH, { body })
    close(true)
  }
  const factors = (methods ?? []).filter(method => method !== 'password')
  return (
    <Dialog
      isOpen={isOpen}
      onClose={() => close(false)}
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
  useEffect(() => document.getElementById('proof-password')?.focus(), [])
  const { problems, failure, isBusy, props } = useForm({
    schema: passwordProof,
    read: data => ({ password: data.get('password') || undefined }),
    send: onProof,
  })
  return (
    <form {...props} className="grid gap-5">
      <Problem error={failure} />
      <Field
        label={t('password')}
        id="proof-password"
        name="password"
        type="password"
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
  const [failure, setFailure] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  async function signInAgain() {
    setBusy(true)
    if (await signOut()) {
      dispatchEvent(new Event(SESSION_ENDED_EVENT))
      const currentPath = location.pathname + location.search
      return location.assign(`/login?proof&next=${encodeURIComponent(currentPath)}`)
    }
    setFailure(new ApiError(0, 'network'))
    setBusy(false)
  }
  return (
    <div className="grid gap-5">
      <Problem error={failure} />
      <Button variant="primary" disabled={isBusy} onClick={signInAgain}>
        {t('signIn')}
      </Button>
    </div>
  )
}
