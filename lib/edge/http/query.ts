import type * as z from 'zod'
import { refuse } from '#lib/base/errors.ts'
import type { FieldProblems } from '#lib/base/refusals.ts'
import { parseFields, refuseUnstorable } from '#lib/edge/http/body.ts'

const NAMES_MAX = 20
const NAME_LENGTH_MAX = 64

/** Reads the query string: the last value of a repeated name counts, and unknown names are ignored. */
export function readQuery(url: string): Record<string, unknown> {
  const query = Object.fromEntries(parametersOf(url))
  refuseUnstorable(query, 1)
  return query
}

/** Validates the query string. A parameter that would have no effect is refused, not ignored. */
export function parseQuery<T>(schema: z.ZodType<T> | undefined, url: string): T | undefined {
  const known = schema ? parameterNames(schema) : []
  const problems = findProblems(url, known)
  if (Object.keys(problems).length > 0) throw refuse('invalid_input', { fields: problems })
  return schema && parseFields(schema, readQuery(url))
}

/** Names of what an operation ignores of a request. */
export interface Ignored {
  parameters?: string[] | undefined
  fields?: string[] | undefined
}

export function ignoredHeaders({ parameters = [], fields = [] }: Ignored): Record<string, string> {
  return {
    ...(parameters.length > 0 && { 'x-ignored-parameters': parameters.join(', ') }),
    ...(fields.length > 0 && { 'x-ignored-fields': fields.join(', ') }),
  }
}

/** Lists the names in a query string, short enough for a header. */
export function listParameters(url: string): string[] {
  const names = new Set([...parametersOf(url).keys()].map(shorten))
  return [...names].slice(0, NAMES_MAX).map(encodeURIComponent)
}

function findProblems(url: string, known: string[]): FieldProblems {
  // Not an object: a parameter may be named __proto__.
  const problems = new Map<string, string[]>()
  const seen = new Set<string>()
  for (const pair of queryOf(url).split('&')) {
    // The first character of its argument is dropped if it is a question mark.
    const [[name, value] = ['', '']] = new URLSearchParams(`?${pair}`)
    if (pair === '') continue
    const label = shorten(name)
    if (!known.includes(name)) {
      const names = known.length > 0 ? `: send ${known.join(', ')}` : ''
      problems.set(label, [`${label} is not a parameter of this operation${names}`])
    } else if (seen.has(name)) problems.set(label, [`${label} must not be sent twice`])
    else if (value.includes('\ufffd')) {
      problems.set(label, [`${label} must be percent-encoded UTF-8`])
    }
    seen.add(name)
  }
  return Object.fromEntries(problems)
}

/** Names of a schema's fields. */
export function parameterNames(schema: z.ZodType): string[] {
  return Object.keys((schema as z.ZodObject).shape)
}

function parametersOf(url: string): URLSearchParams {
  return new URLSearchParams(`?${queryOf(url)}`)
}

function queryOf(url: string): string {
  const index = url.indexOf('?')
  return index < 0 ? '' : url.slice(index + 1)
}

function shorten(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed()
}
