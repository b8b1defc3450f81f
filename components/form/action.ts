'use client'

import { useState } from 'react'

/** A button's work: `run` does it; a failure is kept until the next `run`. */
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
