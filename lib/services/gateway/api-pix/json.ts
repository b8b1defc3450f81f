/** Tolerant reading of JSON: what is missing, null or of another kind is absent. */

export type Fields = Record<string, unknown>

export function fieldsOf(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as Fields) : {}
}
