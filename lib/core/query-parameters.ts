import * as z from 'zod'
import { must } from '#lib/core/fields.ts'

/** A query parameter that may be repeated: entries with any of the values match. */
export function repeatable<const Value extends string>(values: readonly Value[]) {
  const isKnown = (list: unknown) => (list as Value[]).every(value => values.includes(value))
  const list = z.custom<Value[]>(
    isKnown,
    must(`be one of ${values.join(', ')}; repeat the parameter for several`),
  )
  repeatableSchemas.add(list)
  return list
}

const KEYS_MAX = 20

/** A query parameter of the form `name[key]=value`, as pairs: a record would drop the key __proto__. */
export function keyed(keyLengthMax: number, valueLengthMax: number) {
  const rule = `be sent as name[key]=value, with 1 to ${keyLengthMax} characters in the key and at most ${valueLengthMax} in the value`
  const isPair = ([key = '', value = '']: string[]) =>
    key !== '' && key.length <= keyLengthMax && value.length <= valueLengthMax
  const pairs = z
    .custom<[string, string][]>(list => (list as string[][]).every(isPair), must(rule))
    .refine(list => list.length <= KEYS_MAX, must(`have at most ${KEYS_MAX} keys`))
  keyedSchemas.add(pairs)
  return pairs
}

const repeatableSchemas = new WeakSet<object>()
const keyedSchemas = new WeakSet<object>()

/** Says how a parameter is sent: once, repeated, or with keys. */
export function formOf(schema: unknown): 'single' | 'repeatable' | 'keyed' {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema
  if (repeatableSchemas.has(inner as object)) return 'repeatable'
  return keyedSchemas.has(inner as object) ? 'keyed' : 'single'
}
