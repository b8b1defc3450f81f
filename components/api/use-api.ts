'use client'

import { createContext, use, useState } from 'react'
import type { Api } from '#components/api/client.ts'

export const ApiContext = createContext<Api | null>(null)

export function useApi(): Api {
  const api = use(ApiContext)
  if (!api) throw new Error('useApi() is called outside <ApiProvider>')
  return api
}

/** Returns the API client, or null on pages without an account, such as sign-in. */
export function useOptionalApi(): Api | null {
  return use(ApiContext)
}

/**
 * Runs an action and tracks its state; a failure stays until the next run. `settle` follows success
 * and failure, which is shown meanwhile.
 */
export function useAction<Args extends unknown[]>(
  work: (...args: Args) => Promise<unknown>,
  settle?: () => Promise<unknown>,
) {
  const [state, setState] = useState<'idle' | 'busy' | 'done'>('idle')
  const [failure, setFailure] = useState<unknown>(null)
  async function run(...args: Args) {
    setState('busy')
    setFailure(null)
    let error: unknown = null
    await work(...args).catch(reason => {
      error = reason
      setFailure(reason)
    })
    await settle?.()
    setState(error === null ? 'done' : 'idle')
  }
  return { run, failure, isBusy: state === 'busy', isDone: state === 'done' }
}
