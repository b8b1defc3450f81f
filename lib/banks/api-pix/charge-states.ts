import {
  type ChargeBank,
  findCharge,
  OTHER_TXID,
  stateOfCharge,
} from '#lib/banks/api-pix/charges.ts'
import { judge, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { findPayments } from '#lib/banks/api-pix/payments.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { type BankCharge, readCharge } from '#lib/banks/api-pix/read.ts'
import { bodyOf, isStatusOk } from '#lib/banks/api-pix/reply.ts'
import type { ChargeAnswers, ChargeState, GatewayResult } from '#lib/banks/gateway.ts'

/** Concurrent questions of one batch. */
const CONCURRENCY_MAX = 8
/** Time for a batch: below the 10 s after which the journal aborts the call with all its answers. */
const BATCH_MAX_MS = 8_000
/** Questions that may fail before a batch ends. One charge that always fails must not end it. */
const FAILURES_MAX = 3

export type QueryBank = ChargeBank & { profile: BankProfile }

/** Queries charges one by one: the standard has no call for many. Answers for those that it reached. */
export async function queryCharges(
  bank: QueryBank,
  txids: string[],
  signal: AbortSignal,
): Promise<GatewayResult<ChargeAnswers>> {
  const answers = new Map<string, ChargeState | null>()
  const failures: GatewayResult<never>[] = []
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(BATCH_MAX_MS)])
  const left = [...txids]
  const work = async () => {
    for (let txid = left.shift(); txid !== undefined; txid = left.shift()) {
      if (failures.length >= FAILURES_MAX || inTime.aborted) return
      const result = await queryCharge(bank, txid, inTime)
      if (result.outcome === 'ok') answers.set(txid, result.value)
      else failures.push(result)
    }
  }
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY_MAX, txids.length) }, work))
  const [failure] = failures
  if (answers.size === 0 && failure) return failure
  const pauses = failures.map(each => ('retryAfterMs' in each ? (each.retryAfterMs ?? 0) : 0))
  const states = new Map([...answers].filter((entry): entry is [string, ChargeState] => !!entry[1]))
  const retryAfterMs = Math.max(0, ...pauses)
  const unanswered = txids.filter(txid => !answers.has(txid))
  return { outcome: 'ok', value: { states, unanswered, ...(retryAfterMs && { retryAfterMs }) } }
}

/** Removes an open charge; one that is not open is queried. */
export async function removeCharge(
  bank: QueryBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState | null>> {
  const body = { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' }
  const call = { method: 'PATCH', path: `/cob/${txid}`, body } as const
  const reply = await bank.client.call(call, signal)
  if (reply.kind === 'response' && isStatusOk(reply.status)) {
    const charge = readCharge(bodyOf(reply), txid)
    if (charge === null) return unknown(OTHER_TXID)
    // An empty answer does not say whether the charge was paid meanwhile.
    return charge.status === null
      ? queryCharge(bank, txid, signal)
      : completeState(bank, charge, txid, signal)
  }
  const verdict = judge(reply, 'removal', { id: txid })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? queryCharge(bank, txid, signal) : verdict
}

async function queryCharge(
  bank: QueryBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState | null>> {
  const found = await findCharge(bank, txid, signal)
  if (found.outcome !== 'ok') return found
  return found.value === null
    ? { outcome: 'ok', value: null }
    : completeState(bank, found.value, txid, signal)
}

/**
 * Finds the payments of a charge that is paid without naming them in the list of payments. If the bank
 * names one that cannot be read, that is its answer: asking again would never bring another.
 */
async function completeState(
  bank: QueryBank,
  charge: BankCharge,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<ChargeState>> {
  const value = stateOfCharge(charge)
  if (value) return { outcome: 'ok', value }
  if (charge.createdAt === null) return unknown('a paid charge without readable payments')
  const list = await findPayments(bank, charge.createdAt, txid, signal)
  if (list.outcome !== 'ok') return list
  const { payments, isUnread } = list.value
  const hasUnread = isUnread || charge.unreadable > 0
  if (payments.length === 0 && !hasUnread) return unknown('a paid charge without readable payments')
  return { outcome: 'ok', value: { state: 'paid', payments } }
}
