import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { Bank } from './bank.ts'
import { Refusal, type RefusalName } from './refusal.ts'
import type { Kind } from './settings.ts'

/** A request that reached its route. */
export interface Call {
  params: Record<string, string>
  query: URLSearchParams
  headers: IncomingHttpHeaders
  body: unknown
  /** The fault `shift-pages` met this request. */
  hasShiftedPages: boolean
}

export interface Reply {
  status: number
  body?: unknown
  /** Text of a body that is CSV instead. */
  csv?: string
}

export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with parameters, such as `/v2/cob/:txid`. */
  path: string
  scope: string
  /** The only kind of bank that has it. */
  kind?: Kind
  handle: (bank: Bank, call: Call) => Reply | Promise<Reply>
}

const SHAPE_CODES = ['unrecognized_keys', 'invalid_type']

/** Returns the body if it has the shape; unknown properties are refused by both kinds of bank. */
export function readBody<T>(schema: z.ZodType<T>, body: unknown, refusal: RefusalName): T {
  const { data, error } = schema.safeParse(body)
  if (!error) return data as T
  const violations = error.issues.map(issue => {
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : []
    return { reason: issue.message, property: [...issue.path, ...keys].join('.') }
  })
  const isShape = error.issues.some(({ code }) => SHAPE_CODES.includes(code))
  throw new Refusal(refusal, z.prettifyError(error), violations, isShape)
}

export function refuseValue(refusal: RefusalName, property: string, reason: string): never {
  throw new Refusal(refusal, reason, [{ reason, property }])
}
