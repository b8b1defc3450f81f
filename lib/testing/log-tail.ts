import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { TEST_LOG } from '#lib/testing/setup.ts'

/**
 * What all of this run's tests and servers log from now on. The whole of it is large, and reading
 * that would hold up the very server that is waited for.
 */
export function followLog(): () => string {
  const from = sizeOf()
  return () => {
    const bytes = Buffer.alloc(sizeOf() - from)
    const file = openSync(TEST_LOG, 'r')
    readSync(file, bytes, 0, bytes.length, from)
    closeSync(file)
    return bytes.toString()
  }
}

function sizeOf(): number {
  return statSync(TEST_LOG, { throwIfNoEntry: false })?.size ?? 0
}
