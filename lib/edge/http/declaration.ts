import type * as z from 'zod'
import type { Once } from '#lib/base/db/once.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { ErrorCode } from '#lib/base/refusals.ts'
import type { InvalidForm } from '#lib/edge/http/answer.ts'
import type { CallingAccount } from '#lib/edge/http/caller.ts'
import type { Rule } from '#lib/edge/http/idempotency.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'
import type { Allowed } from '#lib/services/people/roles.ts'

interface Call<Body, Query> {
  account: CallingAccount
  mode: Mode
  body: Body
  query: Query
  params: Record<string, string>
  ip: string | null
  /** The member who asks for it in our own pages; null for a program with a token. */
  userId: string | null
  user: SessionUser | null
  /** Fails once the caller may do this no more: for an answer that goes on for long. */
  proveAgain: () => Promise<void>
  /** Set when the request carries an Idempotency-Key: the row is written with it, under its id. */
  once: Once | undefined
}

export interface Declaration<Body = undefined, Query = undefined> {
  /** What it does, for the document: a line, and what else there is to know. */
  summary: string
  description?: string
  /** The permission that the caller needs; any one of a list will do. */
  allow: Allowed | Allowed[]
  /** Weighty enough that a member who proved long ago who they are is asked again. */
  takesProof?: boolean
  /** What the body must be, in each mode; without it none is read. */
  body?: Record<Mode, z.ZodType<Body>>
  query?: z.ZodType<Query>
  invalid?: InvalidForm
  /** What a 200 says. */
  answer: z.ZodType
  /** Refusals beside those that every endpoint knows. */
  refuses?: ErrorCode[]
  /** Of every POST: how its answer is kept under an Idempotency-Key. */
  once?: Rule
  /** Its first statement names the account by `account.ref`, so it may begin with a remembered caller. */
  quick?: boolean
  handle: (call: Call<Body, Query>) => Promise<unknown>
}
