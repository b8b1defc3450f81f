import { refuseMoneyOut } from '#lib/banks/closures.ts'
import type { DisputeAnswer, Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import {
  type Call,
  type CallOptions,
  callLocally,
  journalCall,
  type Subject,
} from '#lib/banks/record-call.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'

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
 * Journals a defence in a dispute, without its text. The call waits while the connection rests. Its failure does not make
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
