import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { TEST_LOG } from '#lib/testing/setup.ts'

/** Reads only new log lines: reading a run's whole log would block the server under test. */
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
