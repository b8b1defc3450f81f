import { db } from '#lib/base/db/client.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'
import { callWithTimeout, TIMED_OUT } from '#lib/services/gateway/call.ts'
import type { Gateway, GatewayResult } from '#lib/services/gateway/gateway.ts'

/** Time limit of a call: above any normal response time. After it, the outcome is queried later. */
const CALL_TIMEOUT_MS = 10_000

export interface Subject {
  accountId: string
  id: string
  mode: Mode
  connectionId: string
}

/** The subject of a call about a connection itself. */
interface ConnectionSubject {
  accountId: null
  id: null
  mode: null
  connectionId: string
}

export interface Call<Value> {
  operation: keyof Gateway
  /** Ids of the subjects without hyphens; for a charge, the txid. */
  subjectIds: string[]
  request: (txid: string) => object
  make: (signal: AbortSignal) => Promise<GatewayResult<Value>>
  /** Selects the part of the response that is journaled for one subject. Default: all of it. */
  part?: (value: Value, txid: string) => unknown
  /** Replacements for private texts that the bank may repeat in its response. */
  hidden?: Record<string, string>
}

/** Journaled fields. None has payer data; the PIX key is masked before. */
const JOURNALED_FIELDS = [
  ...['id', 'txid', 'amount', 'dictKey', 'endToEndId', 'expiresInSeconds'],
  ...['state', 'paidAt', 'brCode', 'newsInMs', 'reason', 'code', 'bankText'],
  ...['available', 'host', 'since', 'count', 'isLastPage'],
]

export interface CallOptions {
  /** Time after which a call is aborted. */
  timeoutMs?: number
  /** Asked between the journal and the call, so that a call that it allows is always in the journal. */
  mayCall?: () => Promise<boolean>
}

export async function journalCall<Value>(
  gateway: string,
  subjects: (Subject | ConnectionSubject)[],
  call: Call<Value>,
  options: CallOptions,
): Promise<GatewayResult<Value>> {
  const { operation, request, make, part = value => value, hidden = {} } = call
  const [ids, accounts] = [subjects.map(() => newId()), subjects.map(one => one.accountId)]
  const txids = subjects.map(({ id }) => removeHyphens(id ?? ''))
  const requests = txids.map(txid => JSON.stringify(request(txid), JOURNALED_FIELDS))
  await db().$executeRaw`
    INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
      connection_id)
    SELECT c.account_id, c.id, c.mode, ${gateway}, ${operation}, c.subject_id, c.request::json,
      ${subjects[0]?.connectionId ?? null}::uuid
    FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${subjects.map(({ mode }) => mode)}::text[],
      ${subjects.map(({ id }) => id)}::uuid[], ${requests}::text[])
      AS c (account_id, id, mode, subject_id, request)`
  const { timeoutMs = CALL_TIMEOUT_MS } = options
  const result = await callIfAllowed(options, () => callWithTimeout(operation, make, timeoutMs))
  const responses = txids.map(txid => {
    const response = result.outcome === 'ok' ? part(result.value, txid) : addTimeoutCode(result)
    return redact(JSON.stringify(response, JOURNALED_FIELDS), hidden)
  })
  // Money may have moved: the outcome is returned even if the journal cannot be updated.
  await db().$executeRaw`
      UPDATE gateway_calls g SET outcome = ${result.outcome}, finished_at = clock_timestamp(),
        response = c.response::json
      FROM unnest(${ids}::uuid[], ${responses}::text[]) AS c (id, response)
      WHERE g.id = c.id`.catch(error =>
    log().warn({ err: error, gateway, operation }, 'storing a gateway outcome failed'),
  )
  return result
}

const NEVER_ABORTED = new AbortController().signal

export function callLocally<Value>(
  options: CallOptions,
  make: Call<Value>['make'],
): Promise<GatewayResult<Value>> {
  return callIfAllowed(options, () => make(NEVER_ABORTED))
}

async function callIfAllowed<Value>(
  { mayCall }: CallOptions,
  make: () => Promise<GatewayResult<Value>>,
): Promise<GatewayResult<Value>> {
  if (mayCall && !(await mayCall())) return { outcome: 'retryable', reason: 'not called' }
  return make()
}

function redact(json: string, hidden: Record<string, string>): string {
  return Object.entries(hidden).reduce((text, [secret, replacement]) => {
    const [from, to] = [
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(replacement).slice(1, -1),
    ]
    return from ? text.replaceAll(from, () => to) : text
  }, json)
}

/** Adds the code `timeout` to a timeout, so that pages can translate its reason. */
function addTimeoutCode(result: GatewayResult<unknown>): object {
  return result === TIMED_OUT ? { ...result, code: 'timeout' } : result
}
