'use client'

import { useState } from 'react'

/** State of a button: `run` does the work once; after a failure it can be run again. */
export function useAction<Args extends unknown[]>(work: (...args: Args) => Promise<unknown>) {
  const [state, setState] = useState<'idle' | 'busy' | 'done'>('idle')
  const [failure, setFailure] = useState<unknown>(null)
  async function run(...args: Args) {
    setState('busy')
    setFailure(null)
    try {
      await work(...args)
      setState('done')
    } catch (error) {
      setFailure(error)
      setState('idle')
    }
  }
  return { run, failure, isBusy: state === 'busy', isDone: state === 'done' }
}
