'use client'

import { Building2, CircleAlert } from 'lucide-react'
import { useEffect, useState } from 'react'
import { fetchProviderUrl } from '#components/form/auth-calls.ts'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'

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
