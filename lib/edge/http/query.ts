import type * as z from 'zod'
import { refuse } from '#lib/base/errors.ts'
import { parseFields, refuseUnstorable } from '#lib/edge/http/body.ts'

const NAMES_MAX = 20
const NAME_LENGTH_MAX = 64

/** Validates the query string. A parameter that would have no effect is refused, not ignored. */
export function parseQuery<T>(schema: z.ZodType<T> | undefined, url: string): T | undefined {
  const parameters = parametersOf(url)
  const problems = findProblems(parameters, schema ? parameterNames(schema) : [])
  if (problems.size > 0) throw refuse('invalid_input', { fields: Object.fromEntries(problems) })
  if (!schema) return undefined
  const query = Object.fromEntries(parameters)
  refuseUnstorable(query, 1)
  return parseFields(schema, query)
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

/** Returns a map, because a parameter may be named __proto__. */
function findProblems(parameters: URLSearchParams, known: string[]): Map<string, string[]> {
  const problems = new Map<string, string[]>()
  const seen = new Set<string>()
  for (const [name, value] of parameters) {
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
  return problems
}

/** Names of a schema's fields. */
export function parameterNames(schema: z.ZodType): string[] {
  return Object.keys((schema as z.ZodObject).shape)
}

/** Adds the question mark again, because a second one belongs to the first name. */
function parametersOf(url: string): URLSearchParams {
  const index = url.indexOf('?')
  return new URLSearchParams(index < 0 ? '' : `?${url.slice(index + 1)}`)
}

function shorten(name: string): string {
  return name.slice(0, NAME_LENGTH_MAX).toWellFormed()
}
