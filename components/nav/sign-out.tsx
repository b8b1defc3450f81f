'use client'

import { LogOut } from 'lucide-react'
import { useState } from 'react'
import { signOut } from '#components/form/auth-calls.ts'
import { Button } from '#components/ui/button.tsx'

interface SignOutButtonProps {
  label: string
  /** Replaces the label when the server could not be reached. */
  retryLabel: string
  to?: string
  className?: string
}

export function SignOutButton({
  label,
  retryLabel,
  to = '/login',
  className = '',
}: SignOutButtonProps) {
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  async function endSession() {
    setState('busy')
    if (await signOut()) location.assign(to)
    else setState('failed')
  }
  return (
    <Button
      variant="plain"
      onClick={endSession}
      disabled={state === 'busy'}
      className={`w-full ${className}`}
    >
      <LogOut size={16} aria-hidden />
      <span role={state === 'failed' ? 'alert' : undefined}>
        {state === 'failed' ? retryLabel : label}
      </span>
    </Button>
  )
}
