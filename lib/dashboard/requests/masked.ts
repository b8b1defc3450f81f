import { isObject } from '#lib/core/fields.ts'

/** What the log of requests stores instead of a value that may be personal. */
export const MASKED = '***'

/** Returns the names of the fields of a body whose value is masked, each once. */
export function namesOfMasked(body: unknown): string[] {
  return [...new Set(namesIn(body))]
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && inner.includes(MASKED) ? [name] : namesIn(inner),
  )
}
