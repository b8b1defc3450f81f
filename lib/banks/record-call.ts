import { type Admission, breaker } from '#lib/banks/breaker.ts'
import { callMeasured, TIMED_OUT } from '#lib/banks/call.ts'
import { type Gateway, type GatewayResult, PAYER_NAME_MAX } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Claim } from '#lib/db/claim.ts'
import { db } from '#lib/db/client.ts'

/** Time limit of a call: above any normal response time. After it, the outcome is queried later. */
const CALL_TIMEOUT_MS = 10_000

export interface Subject {
  accountId: string
  id: string
  mode: Mode
  connectionId: string
  trace?: Claim['trace']
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
  /** Made also while the connection rests, and judges it by no failure: an operator asks. */
  isCheck?: boolean
  /** Waits while the connection rests, but neither probes nor judges it: a list may be all that fails. */
  isList?: boolean
}

/** The bank was not called, for a reason of Troco. */
export const NOT_CALLED = { outcome: 'retryable', reason: 'not called' } as const
export const RESTS_REASON = 'the connection rests after failed calls'

/** Journaled fields. None has payer data; the PIX key is masked before. */
const JOURNALED_FIELDS = [
  ...['id', 'txid', 'amount', 'dictKey', 'endToEndId', 'expiresInSeconds'],
  ...['state', 'payments', 'paidAt', 'brCode', 'newsInMs', 'payableForMs'],
  ...['reason', 'code', 'bankText'],
  ...['returns', 'returnedAt', 'available', 'host', 'since', 'count', 'isLastPage'],
  ...['day', 'unreadCount', 'flaw'],
]

export interface CallOptions {
  /** A check with credentials that the connection does not have yet: a failure says nothing about it. */
  isCandidate?: boolean
  /** Time after which a call is aborted. */
  timeoutMs?: number
  /**
   * Returns why the call must not be made; null: it may. Asked between the journal and the call, so that a call that
   * is made is always in the journal.
   */
  findObstacle?: () => Promise<GatewayResult<never> | null>
  /** Repeats a call that failed a moment ago: together they are one failure of the connection. */
  isRepeated?: boolean
  /** Replacements for private texts that the bank may repeat in any response about the subjects. */
  hidden?: Record<string, string>
}

const UNCOUNTED = { isAdmitted: true, probe: null } as const

/** Refused without a journal entry while the connection rests: the bank is not called. */
export async function journalCall<Value>(
  gateway: Gateway,
  subjects: (Subject | ConnectionSubject)[],
  call: Call<Value>,
  options: CallOptions,
): Promise<GatewayResult<Value>> {
  const { operation, isCheck = false, isList = false, hidden = {} } = call
  const connectionId = subjects[0]?.connectionId
  if (connectionId === undefined) throw new Invariant(`${operation} has no subject`)
  const admission = await admit(connectionId, call)
  if (!admission.isAdmitted) {
    const { retryAfterMs } = admission
    return { outcome: 'retryable', reason: RESTS_REASON, retryAfterMs }
  }
  const { timeoutMs = CALL_TIMEOUT_MS, isRepeated = false, isCandidate = false } = options
  const { probe } = admission
  const admitted = { connectionId, operation, probe, isRepeated, failuresMax: gateway.failuresMax }
  const isSilent = (result: GatewayResult<Value>) => isCandidate && result.outcome !== 'ok'
  const record = (result: GatewayResult<Value> | null) =>
    isCheck || isList
      ? result && !isSilent(result) && breaker.recordCheck(connectionId, operation, result)
      : breaker.record(admitted, result)
  try {
    const ids = await insertCalls(gateway.name, subjects, call)
    const obstacle = await options.findObstacle?.()
    const result = obstacle ?? (await callMeasured(subjects, call, timeoutMs))
    // Money may have moved: the outcome is returned even if it cannot be stored.
    await Promise.all([
      storeOutcome(ids, subjects, call, result),
      record(obstacle === NOT_CALLED ? null : redactBlock(result, hidden)),
    ]).catch(error =>
      log().warn({ err: error, connectionId, operation }, 'storing a gateway outcome failed'),
    )
    return result
  } catch (error) {
    // No call was made: the next one may be the probe at once.
    await Promise.resolve(record(null)).catch(() => {})
    throw error
  }
}

async function admit<Value>(
  connectionId: string,
  { isCheck, isList }: Call<Value>,
): Promise<Admission> {
  if (!isCheck && !isList) return breaker.admit(connectionId)
  const retryAfterMs = isCheck ? 0 : await breaker.restMs(connectionId)
  return retryAfterMs > 0 ? { isAdmitted: false, retryAfterMs } : UNCOUNTED
}

function redactBlock<Value>(
  result: GatewayResult<Value>,
  hidden: Record<string, string>,
): GatewayResult<Value> {
  if (result.outcome !== 'blocked') return result
  return { ...result, reason: redactText(result.reason, hidden) }
}

async function insertCalls<Value>(
  gateway: string,
  subjects: (Subject | ConnectionSubject)[],
  { operation, request }: Call<Value>,
): Promise<string[]> {
  const [ids, accounts] = [subjects.map(() => newId()), subjects.map(one => one.accountId)]
  const requests = subjects.map(({ id }) =>
    JSON.stringify(request(removeHyphens(id ?? '')), JOURNALED_FIELDS),
  )
  await db().$executeRaw`
    INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request,
      connection_id)
    SELECT c.account_id, c.id, c.mode, ${gateway}, ${operation}, c.subject_id, c.request::json,
      ${subjects[0]?.connectionId ?? null}::uuid
    FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${subjects.map(({ mode }) => mode)}::text[],
      ${subjects.map(({ id }) => id)}::uuid[], ${requests}::text[])
      AS c (account_id, id, mode, subject_id, request)`
  return ids
}

async function storeOutcome<Value>(
  ids: string[],
  subjects: { id: string | null }[],
  { part = value => value, hidden = {} }: Call<Value>,
  result: GatewayResult<Value>,
): Promise<void> {
  const responses = subjects.map(({ id }) => {
    const response =
      result.outcome === 'ok' ? part(result.value, removeHyphens(id ?? '')) : addTimeoutCode(result)
    return redact(JSON.stringify(response ?? null, JOURNALED_FIELDS), hidden)
  })
  await db().$executeRaw`
    UPDATE gateway_calls g SET outcome = ${result.outcome}, finished_at = clock_timestamp(),
      response = c.response::json
    FROM unnest(${ids}::uuid[], ${responses}::text[]) AS c (id, response)
    WHERE g.id = c.id`
}

const NEVER_ABORTED = new AbortController().signal

export async function callLocally<Value>(
  { findObstacle }: CallOptions,
  make: Call<Value>['make'],
): Promise<GatewayResult<Value>> {
  return (await findObstacle?.()) ?? make(NEVER_ABORTED)
}

/** Journaled fields in which a bank may repeat private texts. */
const TEXT_FIELDS = ['reason', 'bankText', 'brCode']
/** CPF and CNPJ as banks write them in their texts. Without punctuation, a number can be an id that support asks for. */
const FORMATTED_TAX_ID = /\d{3}\.\d{3}\.\d{3}-\d{2}|[\dA-Z]{2}(\.[\dA-Z]{3}){2}\/[\dA-Z]{4}-\d{2}/g

/** Leaves the other fields as they are: a payer can be called `taken`. */
function redact(json: string, hidden: Record<string, string>): string {
  const redactField = (name: string, value: unknown) =>
    typeof value === 'string' && TEXT_FIELDS.includes(name) ? redactText(value, hidden) : value
  return JSON.stringify(JSON.parse(json), redactField)
}

/** Longest text that is stored. A payment code has at most 512 characters. */
const TEXT_MAX = 1_000

/** Replaces secrets, also in the length in which they are sent, and cuts the rest. */
export function redactText(bankText: string, hidden: Record<string, string>): string {
  const text = Object.entries(hidden)
    .flatMap(([secret, shown]) =>
      [secret, secret.slice(0, PAYER_NAME_MAX)].map(part => [part, shown]),
    )
    .reduce(
      (rest, [part, shown]) => (part ? rest.replaceAll(part, () => shown ?? '') : rest),
      bankText,
    )
  return text.replaceAll(FORMATTED_TAX_ID, '***').slice(0, TEXT_MAX).toWellFormed()
}

/** Adds the code `timeout` to a timeout, so that pages can translate its reason. */
function addTimeoutCode(result: GatewayResult<unknown>): object {
  return result === TIMED_OUT ? { ...result, code: 'timeout' } : result
}
