import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { bodyOf, isStatusOk, isSuccess, type Reply } from '#lib/banks/api-pix/json.ts'
import { judge, unknown, type Verdict } from '#lib/banks/api-pix/outcomes.ts'
import { findPayments } from '#lib/banks/api-pix/payments.ts'
import type { BankProfile } from '#lib/banks/api-pix/profiles.ts'
import { type BankCharge, readCharge } from '#lib/banks/api-pix/read.ts'
import {
  buildChargeCode,
  type ChargeAnswers,
  type ChargeState,
  type ChargeTerms,
  findCodeContradiction,
  type GatewayResult,
  type OpenedCharge,
  PAYER_NAME_MAX,
} from '#lib/banks/gateway.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { normalizeTaxId, taxIdKind } from '#lib/core/pix/tax-id.ts'

/** Difference from which a bank's clock, or its time zone, is taken as wrong. */
const CLOCK_DIFFERENCE_MAX_MS = 60_000
/** Age up to which a charge that a repeated request finds may be: older openings have been ended. */
const FOUND_AGE_MAX_MS = 15 * 60_000
/** Least time for which a charge is shown, whatever the bank's clock says. */
const PAYABLE_MIN_MS = 1_000
const OTHER_TXID = 'a response about the charge of another txid'

interface ChargeBank {
  client: BankClient
  /** Key that receives what is paid. */
  receivingKey: string
}

/**
 * Opens a charge. A bank that has the txid already, or may have it, is asked: the charge counts only
 * with the amount and key of the order.
 */
export async function openCharge(
  bank: ChargeBank,
  order: ChargeTerms,
  signal: AbortSignal,
): Promise<GatewayResult<OpenedCharge>> {
  const put = (hasPayer: boolean) => {
    const body = buildBody(bank, order, hasPayer)
    return bank.client.call({ method: 'PUT', path: `/cob/${order.txid}`, body }, signal)
  }
  let reply = await put(true)
  if (isSuccess(reply)) return readOpened(bank, order, reply, 'new')
  let verdict = judge(reply, 'charge', { id: order.txid })
  if (isDocumentRefused(verdict) && /[A-Z]/i.test(order.payerDoc)) {
    // Not every bank knows documents with letters. The payer is optional.
    reply = await put(false)
    if (isSuccess(reply)) return readOpened(bank, order, reply, 'new')
    verdict = judge(reply, 'charge', { id: order.txid })
  }
  if (verdict.outcome === 'none') return unknown('no charge')
  return verdict.outcome === 'ask' ? findOpened(bank, order, verdict.ifAbsent, signal) : verdict
}

/** Returns the charge of a txid, or null. */
async function findCharge(
  { client }: ChargeBank,
  txid: string,
  signal: AbortSignal,
): Promise<GatewayResult<BankCharge | null>> {
  const reply = await client.call({ method: 'GET', path: `/cob/${txid}` }, signal)
  if (isSuccess(reply)) {
    const value = readCharge(bodyOf(reply), txid)
    return value === null ? unknown(OTHER_TXID) : { outcome: 'ok', value }
  }
  const verdict = judge(reply, 'question', { id: txid })
  if (verdict.outcome === 'none') return { outcome: 'ok', value: null }
  return verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
}

/** An expired charge is open at the bank, whose record knows no expiry; so is one of a new status. */
function stateOfCharge(charge: BankCharge): ChargeState | null {
  const { status, payments, unreadable, foreign } = charge
  if (unreadable + foreign > 0) return null
  if (payments.length > 0) return { state: 'paid', payments }
  if (status === 'CONCLUIDA') return null
  return { state: status?.startsWith('REMOVIDA') ? 'cancelled' : 'open' }
}

async function findOpened(
  bank: ChargeBank,
  order: ChargeTerms,
  ifAbsent: GatewayResult<never>,
  signal: AbortSignal,
): Promise<GatewayResult<OpenedCharge>> {
  const found = await findCharge(bank, order.txid, signal)
  // The bank has the charge, or says so: whatever keeps it from answering does not undo that.
  if (found.outcome !== 'ok') return unknown('the bank does not say what it has under the txid')
  const charge = found.value
  if (charge === null) return ifAbsent
  if (charge.status?.startsWith('REMOVIDA'))
    return { outcome: 'rejected', code: 'unspecified', params: {}, bankText: charge.status }
  if (charge.amount === null || charge.key === null)
    return unknown('the bank has a charge of this txid without amount or key')
  return toOpened(bank, order, charge, 'found')
}

function readOpened(
  bank: ChargeBank,
  order: ChargeTerms,
  reply: Reply,
  origin: Origin,
): GatewayResult<OpenedCharge> {
  const charge = readCharge(bodyOf(reply), order.txid)
  return charge === null ? unknown(OTHER_TXID) : toOpened(bank, order, charge, origin)
}

type Origin = 'new' | 'found'

/** What contradicts the order is unknown, not rejected: it is payable, and so must be removed. */
function toOpened(
  { client, receivingKey }: ChargeBank,
  order: ChargeTerms,
  charge: BankCharge,
  origin: Origin,
): GatewayResult<OpenedCharge> {
  const { amount, key, location } = charge
  if (amount !== null && amount !== order.amount) return unknown('a charge of another amount')
  if (key !== null && key !== receivingKey) return unknown('a charge of another key')
  const brCode = charge.brCode ?? buildCode(location, order)
  if (brCode === null) return unknown('a charge without a code and location')
  const contradiction = findCodeContradiction(brCode, order.amount, location)
  if (contradiction !== null) return unknown(contradiction)
  const isClockRight = Math.abs(client.clockAheadMs ?? 0) <= CLOCK_DIFFERENCE_MAX_MS
  const payableForMs = isClockRight ? findPayableMs(charge, order, origin) : null
  const isPaid = charge.payments.length > 0 || charge.status === 'CONCLUIDA'
  return {
    outcome: 'ok',
    value: {
      brCode,
      ...(payableForMs !== null && { payableForMs }),
      ...(isPaid && { newsInMs: 0 }),
    },
  }
}

function buildCode(location: string | null, order: ChargeTerms): string | null {
  try {
    return location === null ? null : buildChargeCode(location, order)
  } catch {
    return null
  }
}

/** Null if the time of creation cannot be trusted: then the charge expires by Troco's clock. */
function findPayableMs(
  { createdAt, lifetimeS }: BankCharge,
  { expiresInSeconds }: ChargeTerms,
  origin: Origin,
): number | null {
  if (createdAt === null) return null
  const ageMs = Date.now() - createdAt.getTime()
  const ageMaxMs = origin === 'new' ? CLOCK_DIFFERENCE_MAX_MS : FOUND_AGE_MAX_MS
  if (ageMs < -CLOCK_DIFFERENCE_MAX_MS || ageMs > ageMaxMs) return null
  return Math.max(PAYABLE_MIN_MS, (lifetimeS ?? expiresInSeconds) * 1_000 - ageMs)
}

function buildBody({ receivingKey }: ChargeBank, order: ChargeTerms, hasPayer: boolean): object {
  const { payerDoc, payerName, amount, expiresInSeconds } = order
  const kind = taxIdKind(payerDoc)
  const payer = kind && {
    [kind]: normalizeTaxId(payerDoc),
    nome: payerName.slice(0, PAYER_NAME_MAX),
  }
  return {
    calendario: { expiracao: expiresInSeconds },
    ...(payer && hasPayer && { devedor: payer }),
    valor: { original: formatDecimalAmount(amount) },
    chave: receivingKey,
  }
}

function isDocumentRefused(verdict: Verdict): boolean {
  const result = verdict.outcome === 'ask' ? verdict.ifAbsent : verdict
  return result.outcome === 'rejected' && result.field === 'document'
}

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
