import type { Reply } from './route.ts'
import type { Quirks } from './settings.ts'

/** Rewrites a response of the standard as a bank with these deviations would send it. */
export function applyQuirks(quirks: Quirks, { status, body, ...others }: Reply): Reply {
  return {
    ...others,
    status: status === 201 ? quirks.createdStatus : status,
    body: rewrite(quirks, body),
  }
}

function rewrite(quirks: Quirks, value: unknown): unknown {
  if (value === undefined && quirks.hasNulls) return null
  if (typeof value === 'number' && quirks.hasNumbersAsText) return String(value)
  if (Array.isArray(value)) return value.map(item => rewrite(quirks, item))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
    .filter(([name]) => name !== 'pixCopiaECola' || quirks.code !== 'none')
    .map(([name, item]) => [
      name === 'pixCopiaECola' && quirks.code === 'brcode' ? 'brcode' : name,
      rewrite(quirks, item),
    ])
  return Object.fromEntries(fields)
}
