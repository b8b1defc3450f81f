import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { TEST_LOG } from '#lib/testing/setup.ts'

/**
 * Returns a function that reads the lines logged since. The whole log would take too long to read.
 */
export function followLog(): () => string {
  const startOffset = readLogSize()
  return () => {
    const bytes = Buffer.alloc(readLogSize() - startOffset)
    const file = openSync(TEST_LOG, 'r')
    readSync(file, bytes, 0, bytes.length, startOffset)
    closeSync(file)
    return bytes.toString()
  }
}

function readLogSize(): number {
  return statSync(TEST_LOG, { throwIfNoEntry: false })?.size ?? 0
}
