import { db } from '#lib/base/db/client.ts'
import { newId, removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'
import { inferPixKeyType, maskPixKey } from '#lib/base/pix/pix-key.ts'
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

export type Operation =
  | 'createCharge'
  | 'getCharges'
  | 'cancelCharge'
  | 'sendPayout'
  | 'getPayout'
  | 'refundCharge'
  | 'getRefund'

/** The calls of a gateway about charges, payouts and refunds; the journal limits their time. */
export type GatewayCalls = {
  [Name in Operation]: (subject: Parameters<Gateway[Name]>[0]) => ReturnType<Gateway[Name]>
}

interface Call<Value> {
  operation: Operation
  /** Ids of the subjects without hyphens; for a charge, the txid. */
  subjectIds: string[]
  request: (txid: string) => object
  make: (signal: AbortSignal) => Promise<GatewayResult<Value>>
  /** Selects the part of the response that is journaled for one subject. Default: all of it. */
  part?: (value: Value, txid: string) => unknown
  /** Replacements for private texts that the bank may repeat in its response. */
  hidden?: Record<string, string>
}

const NEVER_ABORTED = new AbortController().signal

/** Journaled fields. None has payer data; the PIX key is masked before. */
const JOURNALED_FIELDS = [
  ...['id', 'txid', 'amount', 'dictKey', 'endToEndId', 'expiresInSeconds'],
  ...['state', 'paidAt', 'brCode', 'newsInMs', 'reason', 'code', 'bankText'],
]

interface CallOptions {
  /** Time after which a call is aborted. */
  timeoutMs?: number
  /** Asked between the journal and the call, so that a call that it allows is always in the journal. */
  mayCall?: () => Promise<boolean>
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
  const call = <Value>(parts: Call<Value>) => {
    if (gateway.local) return callIfAllowed(options, () => parts.make(NEVER_ABORTED))
    const ids = new Set(parts.subjectIds)
    const callSubjects = subjects.filter(subject => ids.has(removeHyphens(subject.id)))
    return journalCall(gateway.name, callSubjects, parts, options)
  }
  const journalOne = <Value>(
    operation: Operation,
    request: { id: string; dictKey?: string } | { txid: string },
    make: Call<Value>['make'],
    options: Pick<Call<Value>, 'hidden'> = {},
  ) => {
    const subjectIds = ['id' in request ? request.id : request.txid]
    return call({ operation, subjectIds, request: () => request, make, ...options })
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
      const dictKey = maskKey(order.dictKey)
      const make = (signal: AbortSignal) => gateway.sendPayout(order, signal)
      const hidden = { [order.dictKey]: dictKey }
      return journalOne('sendPayout', { ...order, dictKey }, make, { hidden })
    },
    getPayout: id => journalOne('getPayout', { id }, signal => gateway.getPayout(id, signal)),
    refundCharge: order =>
      journalOne('refundCharge', order, signal => gateway.refundCharge(order, signal)),
    getRefund({ id, endToEndId }) {
      const refund = { id, endToEndId }
      const make = (signal: AbortSignal) => gateway.getRefund(refund, signal)
      return journalOne('getRefund', refund, make)
    },
  }
}

async function journalCall<Value>(
  gateway: string,
  subjects: Subject[],
  call: Call<Value>,
  options: CallOptions,
): Promise<GatewayResult<Value>> {
  const { operation, request, make, part = value => value, hidden = {} } = call
  const [ids, accounts] = [subjects.map(() => newId()), subjects.map(one => one.accountId)]
  const requests = subjects.map(({ id }) =>
    JSON.stringify(request(removeHyphens(id)), JOURNALED_FIELDS),
  )
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
  const responses = subjects.map(({ id }) => {
    const response =
      result.outcome === 'ok' ? part(result.value, removeHyphens(id)) : addTimeoutCode(result)
    return redact(JSON.stringify(response, JOURNALED_FIELDS), hidden)
  })
  // Money may have moved: the outcome is returned even if the journal cannot be updated.
  await db().$executeRaw`
      UPDATE gateway_calls g SET outcome = ${result.outcome}, finished_at = clock_timestamp(),
        response = c.response::json
      FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${responses}::text[])
        AS c (account_id, id, response)
      WHERE g.account_id = c.account_id AND g.id = c.id`.catch(error =>
    log().warn({ err: error, gateway, operation }, 'storing a gateway outcome failed'),
  )
  return result
}

async function callIfAllowed<Value>(
  { mayCall }: CallOptions,
  make: () => Promise<GatewayResult<Value>>,
): Promise<GatewayResult<Value>> {
  if (mayCall && !(await mayCall())) return { outcome: 'retryable', reason: 'not called' }
  return make()
}

/** Age after which a call without a response is taken as never having reached the bank. */
const ARRIVAL_MAX = '10 minutes'

/** Returns whether a call about the subject had no response and may still reach the bank. */
export async function mayArrive(
  { accountId, id }: Pick<Subject, 'accountId' | 'id'>,
  operation: Operation,
): Promise<boolean> {
  const calls = await db().$queryRaw<unknown[]>`
    SELECT FROM gateway_calls
    WHERE account_id = ${accountId}::uuid AND subject_id = ${id}::uuid AND operation = ${operation}
      AND COALESCE(outcome, 'unknown') = 'unknown'
      AND created_at > now() - ${ARRIVAL_MAX}::interval LIMIT 1`
  return calls.length > 0
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

function maskKey(dictKey: string): string {
  const kind = inferPixKeyType(dictKey, 'form')
  return kind.ok ? maskPixKey(kind.type, dictKey) : '***'
}
