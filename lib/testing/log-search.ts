import { existsSync, readFileSync } from 'node:fs'
import { CANARY } from '#lib/testing/canary.ts'

/** Text that no log line may contain: tokens, secrets, rows in database errors, CPFs. */
const FORBIDDEN_PATTERNS = [
  /troco_(test|live)_[0-9A-Za-z]{24,}/,
  /whsec_[A-Za-z0-9+/=]{20,}/,
  /Failing row contains/,
  /"detail":/,
  /\b\d{3}\.\d{3}\.\d{3}-\d{2}\b/,
]

/** Searches the logs of the tests for forbidden text. A missing or empty log is also a problem. */
export function searchLogs(files: string[]): { problem: string | null } {
  for (const file of files) {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
    if (text.trim() === '') return { problem: `${file} is empty, so nothing was searched` }
    const leak = findLeak(text)
    if (leak) return { problem: `${file} holds ${leak}` }
    const repeated = findRepeatedKey(text)
    if (repeated) return { problem: `${file} has a line with the key ${repeated} twice` }
  }
  return { problem: null }
}

/** Returns the kind of the first forbidden text, without the text itself. */
export function findLeak(text: string): string | null {
  for (const [kind, value] of Object.entries(CANARY)) if (text.includes(value)) return `a ${kind}`
  const forbidden = FORBIDDEN_PATTERNS.find(pattern => pattern.test(text))
  return forbidden ? `something of the form ${forbidden.source}` : null
}

/** Returns a key that an object of a line has twice: readers of the log see only one of its values. */
export function findRepeatedKey(text: string): string | null {
  for (const line of text.split('\n')) {
    const objects: Set<string>[] = []
    for (const [token, key] of line.matchAll(/"((?:[^"\\]|\\.)*)":|"(?:[^"\\]|\\.)*"|[{}]/g)) {
      if (token === '{') objects.push(new Set())
      else if (token === '}') objects.pop()
      else if (key !== undefined && objects.at(-1)?.has(key)) return key
      else if (key !== undefined) objects.at(-1)?.add(key)
    }
  }
  return null
}
