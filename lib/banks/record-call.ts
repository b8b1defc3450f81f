import { type Admission, breaker } from '#lib/banks/breaker.ts'
import { refuseMoneyOut } from '#lib/banks/closures.ts'
import {
  type DisputeAnswer,
  type Gateway,
  type GatewayResult,
  type Listing,
  PAYER_NAME_MAX,
  type ReceivedPayment,
  type Registration,
  type StatementRead,
} from '#lib/banks/gateway.ts'
import { connectionName, type ServedConnection } from '#lib/banks/served.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { currentLogContext, log } from '#lib/core/log.ts'
import { increment, observe } from '#lib/core/metrics.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { childSpan, parseCause, recordSpan } from '#lib/core/trace.ts'
import type { Claim } from '#lib/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'

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
const RESTS_REASON = 'the connection rests after failed calls'

/** Journaled fields. None has payer data; the PIX key is masked before. */
const JOURNALED_FIELDS = [
  'id',
  'txid',
  'amount',
  'dictKey',
  'endToEndId',
  'expiresInSeconds',
  'state',
  'payments',
  'paidAt',
  'brCode',
  'newsInMs',
  'payableForMs',
  'reason',
  'code',
  'bankText',
  'returns',
  'returnedAt',
  'available',
  'host',
  'since',
  'count',
  'isLastPage',
  'day',
  'unreadCount',
  'flaw',
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

/** Time for one call while a caller waits: another can follow within the limit of all. */
const CALL_MAX_MS = 4_000
/** Time for all calls and pauses: with the statements around them, a caller waits 8 s at most. */
export const CALLS_MAX_MS = 7_000

/** Returns the time for the next of the calls that end before `deadline`. */
export function callTimeoutMs(deadline: number): number {
  return Math.min(CALL_MAX_MS, deadline - performance.now())
}

const TIMED_OUT = { outcome: 'unknown', reason: 'no response in time' } as const

/** Calls a bank about these subjects, counts the call and traces it. */
export async function callMeasured<Value>(
  subjects: Called[],
  { operation, make }: { operation: string; make: MakeCall<Value> },
  timeoutMs: number,
): Promise<GatewayResult<Value>> {
  const began = performance.now()
  const result = await callWithTimeout(operation, make, timeoutMs)
  const tookMs = performance.now() - began
  const { outcome } = result
  const connection = connectionName(subjects[0]?.connectionId ?? '')
  const labels = [connection, operation]
  increment('troco_bank_calls_total', [...labels, outcome])
  observe('troco_bank_call_seconds', labels, tookMs / 1_000)
  const attributes = {
    'troco.connection': connection,
    'troco.operation': operation,
    'troco.outcome': outcome,
  }
  recordSpan(() => ({
    trace: childSpan(causeOf(subjects)),
    name: `bank ${operation}`,
    kind: 'client',
    endMs: Date.now(),
    tookMs,
    attributes,
    // A refusal is the bank's decision about an order, not a failed call.
    isFailed: outcome !== 'ok' && outcome !== 'rejected',
  }))
  return result
}

interface Called {
  connectionId: string
  trace?: string | null
}

/** Returns the request that a call belongs to. A call about several subjects has none of theirs. */
function causeOf([subject, ...others]: Called[]) {
  const cause = others.length === 0 ? parseCause(subject?.trace ?? null) : null
  return cause ?? currentLogContext().trace
}

type MakeCall<Value> = (signal: AbortSignal) => Promise<GatewayResult<Value>>

/** Calls a bank. An error, or no response in time, is the outcome `unknown`; the call is aborted. */
async function callWithTimeout<Value>(
  operation: string,
  make: MakeCall<Value>,
  timeoutMs: number,
): Promise<GatewayResult<Value>> {
  const limit = new AbortController()
  const timeout = new Promise<typeof TIMED_OUT>(resolve => {
    limit.signal.addEventListener('abort', () => resolve(TIMED_OUT))
  })
  const timer = setTimeout(() => limit.abort(), timeoutMs)
  // Logs only the kind of error: its message may contain the request.
  const call = (async () => make(limit.signal))().catch(error => {
    const { code, name } = error as { code?: unknown; name?: unknown }
    const kind = String(code ?? name ?? 'thrown')
    log().warn({ operation, kind }, 'gateway call failed')
    return { outcome: 'unknown', reason: kind } as const
  })
  try {
    return await Promise.race([call, timeout])
  } finally {
    clearTimeout(timer)
  }
}

type List<Item> = (
  since: Date,
  cursor: string | null,
  signal: AbortSignal,
) => Promise<GatewayResult<Listing<Item>>>

type CallParts<Value> = Pick<Call<Value>, 'part' | 'hidden' | 'isCheck' | 'isList'>

/**
 * Journals calls about no account in the same way as those about one. Lists and the registration are
 * undefined if the gateway has none.
 */
export function withConnectionJournal(connection: Connected, options: CallOptions = {}) {
  const { gateway } = connection
  const call = callerOf(connection, options)
  const listCall = <Item>(operation: Call<unknown>['operation'], list: List<Item> | undefined) =>
    list &&
    ((since: Date, cursor: string | null) =>
      call(operation, signal => list.call(gateway, since, cursor, signal), {
        request: { since },
        part: summarizePage,
        isList: true,
      }))
  const { registerWebhook, listWebhooks, checkSettings, readStatement } = gateway
  const { getBalance, getPayment } = gateway
  return {
    /** Pages ask for it: a look at one must not let the connection rest. */
    getBalance:
      getBalance &&
      (() => call('getBalance', signal => getBalance.call(gateway, signal), { isList: true })),
    /** `make` replaces the check by a longer one. */
    checkHealth: (make = (signal: AbortSignal) => gateway.checkHealth(signal)) =>
      call('checkHealth', make, { isCheck: true }),
    registerWebhook:
      registerWebhook &&
      ((address: string, registration?: Registration) =>
        call('registerWebhook', s => registerWebhook.call(gateway, address, s, registration), {
          request: { host: new URL(address).host },
          hidden: hideAddress(address),
        })),
    checkSettings:
      checkSettings &&
      ((corrects: boolean) =>
        call('checkSettings', signal => checkSettings.call(gateway, corrects, signal), {
          part: countItems,
        })),
    listWebhooks:
      listWebhooks &&
      (() =>
        call('listWebhooks', signal => listWebhooks.call(gateway, signal), { part: countItems })),
    readStatement:
      readStatement &&
      ((day: string, cursor: string | null) =>
        call('readStatement', signal => readStatement.call(gateway, day, cursor, signal), {
          request: { day },
          part: summarizeStatement,
        })),
    getPayment:
      getPayment &&
      ((endToEndId: string) =>
        call('getPayment', signal => getPayment.call(gateway, endToEndId, signal), {
          request: { endToEndId },
          part: countPayment,
          isList: true,
        })),
    listPayments: listCall('listPayments', gateway.listPayments),
    listReturnedPayments: listCall('listReturnedPayments', gateway.listReturnedPayments),
    listSentPayouts: listCall('listSentPayouts', gateway.listSentPayouts),
    listTakenPayouts: listCall('listTakenPayouts', gateway.listTakenPayouts),
    listTakenRefunds: listCall('listTakenRefunds', gateway.listTakenRefunds),
    listDisputes: listCall('listDisputes', gateway.listDisputes),
  }
}

type Connected = Pick<ServedConnection, 'id' | 'gateway'>

function callerOf({ id: connectionId, gateway }: Connected, options: CallOptions) {
  const subject = { accountId: null, id: null, mode: null, connectionId }
  return <Value>(
    operation: Call<Value>['operation'],
    make: Call<Value>['make'],
    { request = {}, ...parts }: { request?: object } & CallParts<Value> = {},
  ) => {
    if (gateway.local) return callLocally(options, make)
    const journaled = { operation, subjectIds: [], request: () => request, make, ...parts }
    return journalCall(gateway, [subject], journaled, options)
  }
}

/** Returns replacements for an address for notices: all but its host is secret. */
export function hideAddress(address: string): Record<string, string> {
  const { host, pathname, search } = new URL(address)
  return { [address]: host, [pathname + search]: '/***' }
}

function countItems({ length: count }: unknown[]): object {
  return { count }
}

/** Who paid is not journaled. */
function countPayment(found: ReceivedPayment | null): object {
  return { count: found === null ? 0 : 1 }
}

/** A page can have a thousand items, and each of them leads to a row of its own. */
function summarizePage({ items, nextCursor }: Listing<unknown>): object {
  return { count: items.length, isLastPage: nextCursor === null }
}

/** A statement has a record for each movement of a day, and some name persons. */
function summarizeStatement(read: StatementRead): object {
  if (read.state !== 'ready') return read
  const { entries, unread } = read.statement
  return { state: read.state, count: entries.length, unreadCount: unread.length }
}

export type BankOperation =
  | 'createCharge'
  | 'getCharges'
  | 'cancelCharge'
  | 'sendPayout'
  | 'getPayout'
  | 'refundCharge'
  | 'getRefund'

/** The calls of a gateway about charges, payouts and refunds; the journal limits their time. */
export type GatewayCalls = {
  [Name in BankOperation]: (subject: Parameters<Gateway[Name]>[0]) => ReturnType<Gateway[Name]>
}

/**
 * Journals each call of a bank before it starts, and its outcome when it ends. Errors and timeouts
 * become the outcome `unknown`, never an exception.
 */
export function withJournal(
  gateway: Gateway,
  subjects: Subject[],
  options: CallOptions = {},
): GatewayCalls {
  const call = async <Value>(parts: Call<Value>): Promise<GatewayResult<Value>> => {
    if (gateway.local) return callLocally(options, parts.make)
    const refusal = await refuseMoneyOut(parts.operation, subjects[0]?.connectionId)
    if (refusal) return refusal
    const ids = new Set(parts.subjectIds)
    const callSubjects = subjects.filter(subject => ids.has(removeHyphens(subject.id)))
    return journalCall(gateway, callSubjects, parts, options)
  }
  const journalOne = <Value>(
    operation: BankOperation,
    request: { id: string; dictKey?: string } | { txid: string },
    make: Call<Value>['make'],
    parts: Pick<Call<Value>, 'hidden'> = {},
  ) => {
    const subjectIds = ['id' in request ? request.id : request.txid]
    const hidden = { ...options.hidden, ...parts.hidden }
    return call({ operation, subjectIds, request: () => request, make, hidden })
  }
  return {
    createCharge(order) {
      const { payerName, payerEmail, payerDoc } = order
      const hidden = { [payerName]: '***', [payerEmail]: '***', [payerDoc]: '***' }
      return journalOne('createCharge', order, signal => gateway.createCharge(order, signal), {
        hidden,
      })
    },
    getCharges: txids =>
      call({
        operation: 'getCharges',
        subjectIds: txids,
        request: txid => ({ txid }),
        make: signal => gateway.getCharges(txids, signal),
        part: ({ states, unanswered }, txid) =>
          states.get(txid) ?? (unanswered.includes(txid) ? { state: 'unanswered' } : null),
      }),
    cancelCharge: txid =>
      journalOne('cancelCharge', { txid }, signal => gateway.cancelCharge(txid, signal)),
    sendPayout(order) {
      const dictKey = maskDictKey(order.dictKey)
      const { ownerDoc } = order
      const make = (signal: AbortSignal) => gateway.sendPayout(order, signal)
      const hiddenDoc = ownerDoc === null ? {} : { [ownerDoc]: maskTaxId(ownerDoc) }
      return journalOne('sendPayout', { ...order, dictKey }, make, {
        hidden: { [order.dictKey]: dictKey, ...hiddenDoc },
      })
    },
    getPayout(payout) {
      const make = (signal: AbortSignal) => gateway.getPayout(payout, signal)
      return journalOne('getPayout', { id: payout.id }, make)
    },
    refundCharge: order =>
      journalOne('refundCharge', order, signal => gateway.refundCharge(order, signal)),
    getRefund({ id, endToEndId, amount }) {
      const refund = { id, endToEndId, amount }
      const make = (signal: AbortSignal) => gateway.getRefund(refund, signal)
      return journalOne('getRefund', { id }, make)
    },
  }
}

/**
 * Journals a defense in a dispute, without its text. The call waits while the connection rests. Its failure does not make
 * the connection rest, because banks grant this call apart from payments.
 */
export function journalAnswer(
  answerDispute: NonNullable<Gateway['answerDispute']>,
  gateway: Gateway,
  subject: Subject,
  answer: DisputeAnswer,
) {
  const make = (signal: AbortSignal) => answerDispute.call(gateway, answer, signal)
  const subjectIds = [removeHyphens(subject.id)]
  const request = () => ({ id: answer.id })
  const call = { operation: 'answerDispute', subjectIds, request, make, isList: true } as const
  return journalCall(gateway, [subject], call, { hidden: { [answer.text]: '***' } })
}

/** Age after which a call without a response is taken as never having reached the bank. */
const ARRIVAL_MAX = '10 minutes'

type CallSubject = Pick<Subject, 'accountId' | 'id'>

/** Returns whether a call about the subject had no response and may still reach the bank. */
export function mayArrive(
  subject: CallSubject,
  operation: BankOperation,
  client?: Tx,
): Promise<boolean> {
  const condition = Prisma.sql`operation = ${operation}
    AND COALESCE(outcome, 'unknown') = 'unknown'
    AND created_at > now() - ${ARRIVAL_MAX}::interval`
  return isJournaled(subject, condition, client)
}

/** Returns whether the bank was ever called about the subject with this operation. */
export function hasCall(subject: CallSubject, operation: BankOperation): Promise<boolean> {
  return isJournaled(subject, Prisma.sql`operation = ${operation}`)
}

/** Returns whether the bank has ever reported the payout or refund as accepted or executed. */
export function wasTaken(subject: CallSubject): Promise<boolean> {
  const condition = Prisma.sql`outcome = 'ok' AND response->>'state' IN ('taken', 'done')`
  return isJournaled(subject, condition)
}

/** Returns whether the journal has a call about the subject that meets the condition. */
async function isJournaled(
  { accountId, id }: CallSubject,
  condition: Prisma.Sql,
  client: Tx = db(),
): Promise<boolean> {
  const calls = await client.$queryRaw<unknown[]>`
    SELECT FROM gateway_calls
    WHERE account_id = ${accountId}::uuid AND subject_id = ${id}::uuid AND ${condition} LIMIT 1`
  return calls.length > 0
}
