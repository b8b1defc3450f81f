import type * as z from 'zod'
import type { Scope } from '#lib/api-pix/access-tokens.ts'
import type { TrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { ErrorCode } from '#lib/core/refusals.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import type { AccountRow } from '#lib/db/sql.ts'
import type { CallingAccount } from '#lib/http/caller.ts'
import type { HttpRequest } from '#lib/http/exchange.ts'
import type { IdempotencyRule } from '#lib/http/idempotency.ts'
import type { ErrorFormat } from '#lib/http/response.ts'
import type { AnyPermission } from '#lib/people/roles.ts'
import type { ProofRule } from '#lib/session/proof.ts'
import type { SessionUser } from '#lib/session/schema.ts'
import type { RowAlong } from '#lib/tokens/authenticate.ts'

interface Call<Body, Query> {
  account: CallingAccount
  mode: Mode
  body: Body
  query: Query
  params: Record<string, string>
  ip: string | null
  header: HttpRequest['header']
  userId: string | null
  /** Null: a member sends the request. */
  tokenId: string | null
  /** Member who answers for the request: the user, or the issuer of the token. */
  responsibleId: string | null
  formerIssuers: readonly string[]
  user: SessionUser | null
  /** Whether staff views the account: a search must not match what a response masks. */
  isViewing: boolean
  /** Whether the caller may read payers' documents (`payers:read`), members after an audited request. */
  readsPayers: boolean
  /** Whether responses contain documents in full: for tokens only. */
  showsDocuments: boolean
  /** Whether the response shall be the whole resource: only set for operations that honor `Prefer`. */
  prefersRepresentation: boolean
  /** Returns how to find a row that `reads` names: for a token, it was read with the caller. */
  finder: <Row>(row: AccountRow<Row>) => AccountRow<Row>['find']
  /** Throws if the caller has lost access meanwhile. For responses that stream for a long time. */
  reauthorize: () => Promise<void>
  /** Set with an Idempotency-Key: the operation stores the key and creates its row with `once.id`. */
  once: IdempotentRequest | undefined
}

/**
 * What an operation lets its caller reach beyond what every member may do. Every write states one;
 * lib/testing/effects.ts searches for paths to them (docs/decisions/024).
 */
export type Effect =
  | 'none'
  /** Takes money out of the account. */
  | 'withdrawal'
  | 'refund'
  /** Proposes an end of an order, which moves money only if another admin confirms it. */
  | 'end_proposal'
  /** Ends an order in the way that another admin proposed. */
  | 'end'
  /** Returns a payer's document in full. */
  | 'document'
  /** Makes a token with permissions of the caller's choice. */
  | 'new_token'
  /** Returns a token with the permissions of an existing one. */
  | 'token_value'
  /** Sends events, which contain documents, to a URL of the caller's choice. */
  | 'receiver'
  /** Makes a link that gives a role. */
  | 'invitation'
  /** Gives the caller the role of such a link. */
  | 'joining'
  /** Changes the role of a member. */
  | 'role'
  /** Ends the membership of a member. */
  | 'removal'

/**
 * A write states whether it requires a proof; a read that shows a secret may require one. Only a read
 * without a proof may be compressed: its response holds no secret (docs/decisions/055).
 */
export type MethodAndProof =
  | { method: 'GET'; proof: 'required'; isCompressible?: never }
  | { method: 'GET'; proof?: never; isCompressible?: true }
  | { method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'; proof: ProofRule; isCompressible?: never }

interface Details<Body, Query, BodyInput, QueryInput, Answer> {
  /** Name in the OpenAPI document, from which generators name functions. Set for every operation there. */
  operationId?: string
  summary: string
  description?: string
  /** Every write needs one. */
  effect?: Effect
  /** Required permission; of a list, any one is sufficient. */
  allow: AnyPermission | AnyPermission[]
  /** Schema of the body in each mode; without a schema, the body is not read. */
  body?: Record<Mode, z.ZodType<Body, BodyInput>>
  /** Default: as for every operation. */
  bodyBytesMax?: number
  /** Whether it holds a file of megabytes or changes many rows: few run at once (rate-limit.ts). */
  isHeavy?: true
  query?: z.ZodType<Query, QueryInput>
  /** Set for the specification's four operations: they ignore query parameters and name them in a header. */
  ignoresQuery?: true
  errorFormat?: ErrorFormat
  /** Set for the operations of API Pix: the scope that the access token must have. */
  scope?: Scope
  /** Status of a success. Default: 200. */
  successStatus?: 201 | 204
  /** Lists known fields of a body whose value the operation ignores, for a header. */
  listIgnoredFields?: (content: Record<string, unknown>) => string[]
  response: z.ZodType<Answer>
  /** Set if a program may keep the response and ask whether it has changed. */
  hasEtag?: true
  /** Set if the operation honors `Prefer: return=representation`. */
  honorsPrefer?: true
  /**
   * Hides documents, in full or stored in full, from callers who may not read them: in first and repeated
   * responses. Of a page, it gets each entry.
   */
  mask?: (shown: never) => unknown
  /** Headers of a success beyond those of every endpoint, described in openapi-responses.ts. */
  responseHeaders?: string[]
  /** Error codes beyond those of every endpoint. */
  errorCodes?: ErrorCode[]
  /** Errors whose message depends on the operation, as it throws them. */
  errorExamples?: TrocoError[]
  /**
   * How a response is stored under an Idempotency-Key. Set for every POST except those that reveal
   * a document: a replay would show it without a record.
   */
  idempotency?: IdempotencyRule
  /** Whether the response is a file of any size, written while its client reads. */
  isExport?: true
  /** Set for the operations that read the log of requests: following it would fill it. */
  isUnlogged?: true
  /** Whether the response is a small file: staff that views an account gets none. */
  isFile?: true
  /** Media type of such a file in the API's document; of a file that was uploaded, those that are accepted. */
  fileType?: string | readonly string[]
  /** Names a row of the caller's that the look-up of a token reads, too: one statement instead of two. */
  reads?: (params: Record<string, string>) => RowAlong | null
  handle: (call: Call<Body, Query>) => Promise<unknown>
}

/** Names of the fields that hold a CPF or CNPJ. */
type DocumentField = 'client_doc' | 'owner_doc' | 'document'

type HoldsDocument<Shown> = Shown extends readonly (infer Entry)[]
  ? HoldsDocument<Entry>
  : Shown extends object
    ? string extends keyof Shown
      ? false
      : DocumentField & keyof Shown extends never
        ? { [Name in keyof Shown]-?: HoldsDocument<Shown[Name]> }[keyof Shown]
        : true
    : false

/** A page of a list, whose entries are masked one by one; any other response is masked as a whole. */
type Masked<Shown> = Shown extends { data: readonly (infer Entry)[] }
  ? Shown extends { next_cursor: unknown } | { next_after: unknown }
    ? Entry
    : Shown
  : Shown

/**
 * A response with a field for a document has a mask. Only an operation that reveals a document shows it
 * to every caller; no key stores its response.
 */
export type DocumentRule<Shown> =
  true extends HoldsDocument<Shown>
    ? { mask: (shown: Masked<Shown>) => unknown } | { effect: 'document'; idempotency?: never }
    : unknown

/** The client of the dashboard reads its types from a declaration (components/api/routes.ts). */
export type Declaration<
  Body = unknown,
  Query = unknown,
  BodyInput = unknown,
  QueryInput = unknown,
  Answer = unknown,
> = Details<Body, Query, BodyInput, QueryInput, Answer> & MethodAndProof

/** Permissions of operations that store what a program sends, as charges, withdrawals and events do. */
const STORING_PERMISSIONS: AnyPermission[] = [
  'transactions:write',
  'refunds:write',
  'withdrawals:write',
  'webhooks:write',
]

/** Returns whether requests count toward the daily bytes of an account's test mode. */
export function storesTestData({ allow }: { allow: AnyPermission | AnyPermission[] }): boolean {
  return [allow].flat().some(permission => STORING_PERMISSIONS.includes(permission))
}
