'use client'

import { useState } from 'react'

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
