import type * as z from 'zod'
import type { IdempotentRequest } from '#lib/base/db/idempotency.ts'
import type { Mode } from '#lib/base/mode.ts'
import type { ErrorCode } from '#lib/base/refusals.ts'
import type { CallingAccount } from '#lib/edge/http/caller.ts'
import type { IdempotencyRule } from '#lib/edge/http/idempotency.ts'
import type { ErrorFormat } from '#lib/edge/http/response.ts'
import type { SessionUser } from '#lib/edge/session/schema.ts'
import type { AnyPermission } from '#lib/services/people/roles.ts'

interface Call<Body, Query> {
  account: CallingAccount
  mode: Mode
  body: Body
  query: Query
  params: Record<string, string>
  ip: string | null
  /** Null for a token. */
  userId: string | null
  user: SessionUser | null
  /** Throws once the caller has lost access: for responses that stream for long. */
  reauthorize: () => Promise<void>
  /** Set if the request has an Idempotency-Key: the verb stores its row with this key and id. */
  once: IdempotentRequest | undefined
}

export interface Declaration<Body = undefined, Query = undefined> {
  summary: string
  description?: string
  /** Required permission; of a list, any one is enough. */
  allow: AnyPermission | AnyPermission[]
  /** Requires a recent proof of identity from a member: for actions with serious consequences. */
  requiresProof?: boolean
  /** Schema of the body in each mode; without it, the body is not read. */
  body?: Record<Mode, z.ZodType<Body>>
  query?: z.ZodType<Query>
  errorFormat?: ErrorFormat
  response: z.ZodType
  /** Error codes beyond those of every endpoint. */
  errorCodes?: ErrorCode[]
  /** For every POST: how the response is stored under an Idempotency-Key. */
  idempotency?: IdempotencyRule
  /** Allows a remembered caller: the first statement names, and so proves, `account.ref`. */
  allowsRememberedCaller?: boolean
  handle: (call: Call<Body, Query>) => Promise<unknown>
}
