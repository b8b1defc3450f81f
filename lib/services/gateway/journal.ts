import { setTimeout as sleep } from 'node:timers/promises'
import { db } from '#lib/base/db/client.ts'
import { bareId, newId } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'
import { inferPixKeyType, maskPixKey } from '#lib/base/pix/pix-key.ts'
import type { Answer, Gateway, OrderState } from '#lib/services/gateway/gateway.ts'
import { rejectionText } from '#lib/services/gateway/rejection.ts'

/** Longer than any bank needs that will answer at all; what became of the call is asked later. */
const CALL_TIMEOUT_MS = 10_000

/** A charge, withdrawal or refund that is spoken of with its bank. */
export interface Subject {
  accountId: string
  id: string
  mode: Mode
}

/** The calls that leave the process for one charge, withdrawal or refund, or many. */
export type Calls = Pick<
  Gateway,
  | 'createCharge'
  | 'getCharges'
  | 'cancelCharge'
  | 'sendPayout'
  | 'getPayout'
  | 'refundCharge'
  | 'getRefund'
>

interface Call<Value> {
  operation: keyof Calls
  /** The bare ids of whom it is about. */
  about: string[]
  request: (txid: string) => object
  make: () => Promise<Answer<Value>>
  /** What of the answer concerns one of them; all of it, unless said. */
  part?: (value: Value, txid: string) => unknown
  /** What stands in the journal instead of a text that came back in the bank's own words. */
  hidden?: Record<string, string>
}

/** What is kept of requests and answers: nothing of the payer, and a payout's key masked. */
const KEPT = [
  ...['id', 'txid', 'amount', 'dictKey', 'endToEndId', 'expiresInSeconds'],
  ...['state', 'paidAt', 'brCode', 'newsInMs', 'reason', 'code'],
]

/**
 * The gateway as it is used for these subjects: each call that leaves the process is written down
 * before it is made, and its outcome after. A call never throws and never takes longer than the
 * time-out: then its outcome is unknown, and it is asked about later under the same id.
 */
export function journaled(
  gateway: Gateway,
  subjects: Subject[],
  timeoutMs = CALL_TIMEOUT_MS,
): Calls {
  if (!gateway.remote) return gateway
  const call = <Value>(parts: Call<Value>) => {
    const names = new Set(parts.about)
    const meant = subjects.filter(subject => names.has(bareId(subject.id)))
    return keep(gateway.name, meant, parts, timeoutMs)
  }
  const one = <Value>(
    operation: keyof Calls,
    request: { id: string; dictKey?: string } | { txid: string },
    make: () => Promise<Answer<Value>>,
    more: Pick<Call<Value>, 'part' | 'hidden'> = {},
  ) => {
    const about = ['id' in request ? request.id : request.txid]
    return call({ operation, about, request: () => request, make, ...more })
  }
  return {
    createCharge(order) {
      const { payerName, payerEmail, payerDoc } = order
      const hidden = { [payerName]: '***', [payerEmail]: '***', [payerDoc]: '***' }
      return one('createCharge', order, () => gateway.createCharge(order), { hidden })
    },
    getCharges: txids =>
      call({
        operation: 'getCharges',
        about: txids,
        request: txid => ({ txid }),
        make: () => gateway.getCharges(txids),
        part: (known, txid) => known.get(txid) ?? null,
      }),
    cancelCharge: txid => one('cancelCharge', { txid }, () => gateway.cancelCharge(txid)),
    sendPayout(order) {
      const dictKey = maskKey(order.dictKey)
      const make = () => gateway.sendPayout(order)
      const hidden = { [order.dictKey]: dictKey }
      return one('sendPayout', { ...order, dictKey }, make, { part: inWords, hidden })
    },
    getPayout: id => one('getPayout', { id }, () => gateway.getPayout(id), { part: inWords }),
    refundCharge: order =>
      one('refundCharge', order, () => gateway.refundCharge(order), { part: inWords }),
    getRefund: id => one('getRefund', { id }, () => gateway.getRefund(id), { part: inWords }),
  }
}

/** The journal holds the sentence of a refusal, whatever the gateway gave as its reason. */
function inWords(order: OrderState | null): unknown {
  return order?.state === 'refused' ? { ...order, reason: rejectionText(order.reason) } : order
}

async function keep<Value>(
  gateway: string,
  subjects: Subject[],
  call: Call<Value>,
  timeoutMs: number,
): Promise<Answer<Value>> {
  const { operation, request, make, part = value => value, hidden = {} } = call
  const ids = subjects.map(() => newId())
  const accounts = subjects.map(({ accountId }) => accountId)
  const requests = subjects.map(({ id }) => JSON.stringify(request(bareId(id)), KEPT))
  await db().$executeRaw`
    INSERT INTO gateway_calls (account_id, id, mode, gateway, operation, subject_id, request)
    SELECT c.account_id, c.id, c.mode, ${gateway}, ${operation}, c.subject_id, c.request::json
    FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${subjects.map(({ mode }) => mode)}::text[],
      ${subjects.map(({ id }) => id)}::uuid[], ${requests}::text[])
      AS c (account_id, id, mode, subject_id, request)`
  const answer = await answered(operation, make, timeoutMs)
  const responses = subjects.map(({ id }) => {
    const told = answer.outcome === 'ok' ? part(answer.value, bareId(id)) : coded(answer)
    return hide(JSON.stringify(told, KEPT), hidden)
  })
  // A known answer is acted on even where it cannot be written down.
  await db().$executeRaw`
      UPDATE gateway_calls g SET outcome = ${answer.outcome}, finished_at = clock_timestamp(),
        response = c.response::json
      FROM unnest(${accounts}::uuid[], ${ids}::uuid[], ${responses}::text[])
        AS c (account_id, id, response)
      WHERE g.account_id = c.account_id AND g.id = c.id`.catch(error =>
    log().warn({ err: error, operation }, 'the outcome of a gateway call could not be kept'),
  )
  return answer
}

function hide(json: string, hidden: Record<string, string>): string {
  return Object.entries(hidden).reduce((text, [secret, shown]) => {
    const [from, to] = [JSON.stringify(secret).slice(1, -1), JSON.stringify(shown).slice(1, -1)]
    return from ? text.replaceAll(from, () => to) : text
  }, json)
}

const TIMED_OUT = { outcome: 'unknown', reason: 'no answer in time' } as const

/** The one reason of our own that a page shows is journaled with a code. */
function coded(answer: Answer<unknown>): object {
  return answer === TIMED_OUT ? { ...answer, code: 'timeout' } : answer
}

async function answered<Value>(
  operation: string,
  make: () => Promise<Answer<Value>>,
  timeoutMs: number,
): Promise<Answer<Value>> {
  const over = new AbortController()
  const late = sleep(timeoutMs, undefined, { signal: over.signal }).then(() => TIMED_OUT)
  // What is thrown may hold what was sent, so only its kind is told.
  const asked = (async () => make())().catch(error => {
    const { code, name } = error as { code?: unknown; name?: unknown }
    const kind = String(code ?? name ?? 'thrown')
    log().warn({ operation, kind }, 'a gateway call failed')
    return { outcome: 'unknown', reason: kind } as const
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    over.abort()
    late.catch(() => {})
  }
}

function maskKey(dictKey: string): string {
  const kind = inferPixKeyType(dictKey, 'form')
  return kind.ok ? maskPixKey(kind.type, dictKey) : '***'
}
