'use client'

import { LogOut } from 'lucide-react'
import { useState } from 'react'
import { signOut } from '#components/form/auth-calls.ts'
import { Button } from '#components/ui/button.tsx'

interface SignOutProps {
  label: string
  /** Replaces the label when the server could not be reached. */
  again: string
  /** Where signing out leads. */
  to?: string
}

export function SignOut({ label, again, to = '/login' }: SignOutProps) {
  const [state, setState] = useState<'idle' | 'busy' | 'failed'>('idle')
  async function leave() {
    setState('busy')
    if (await signOut()) location.assign(to)
    else setState('failed')
  }
  return (
    <Button look="plain" onClick={leave} disabled={state === 'busy'} className="w-full">
      <LogOut size={16} aria-hidden />
      <span role={state === 'failed' ? 'alert' : undefined}>
        {state === 'failed' ? again : label}
      </span>
    </Button>
  )
}
