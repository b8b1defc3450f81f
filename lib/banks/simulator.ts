import { randomUUID } from 'node:crypto'
import {
  type BankRefusal,
  buildChargeCode,
  type ChargeAnswers,
  type ChargeState,
  type ChargeTerms,
  type Gateway,
  type GatewayResult,
  type OpenedCharge,
  type OrderState,
  type PayoutOrder,
  REJECTIONS,
  type RefundOrder,
} from '#lib/banks/gateway.ts'
import { Invariant } from '#lib/core/invariant.ts'
import { cents } from '#lib/core/money.ts'
import { taxIdKind } from '#lib/core/pix/tax-id.ts'
import { db, Prisma } from '#lib/db/client.ts'

/** Start of the location in a simulated code; the txid follows. The host does not exist. */
export const SIMULATED_CODE_LOCATION = 'pix.example.test/qr/v2/'

/** Builds a valid dynamic BR Code from the order alone: equal orders get equal codes. */
export function buildSimulatedCode(
  order: Pick<ChargeTerms, 'txid' | 'amount' | 'merchantName' | 'merchantCity'>,
): string {
  return buildChargeCode(SIMULATED_CODE_LOCATION + order.txid, order)
}

/** Delay until an order settles: about as long as a real PIX takes. */
const SETTLES_AFTER_MS = 1_000
/** Bank number (ISPB) in end-to-end ids of the simulator. */
const ISPB = '00000000'

/** Reason codes that the simulator sets itself; a user who rejects a payout can enter a text. */
const SIMULATOR_REASONS = ['key_refused', 'owner_differs', 'simulated', 'unspecified'] as const
type SimulatorReason = (typeof SIMULATOR_REASONS)[number]

type Refusal = { reason: string | null; reason_code: SimulatorReason | null }

interface OrderRow {
  id: string
  amount: bigint
  state: string
  end_to_end_id: string | null
  settles_at: Date
}

/**
 * Simulates a bank in test mode. Payer e-mails and PIX keys choose the outcome: unavailable@ (bank
 * down), fail@ (charge fails after 1 s), reject@ (payout or refund refused), hold@ (it awaits a decision),
 * stranger@ (belongs to nobody whose document an order gives).
 */
export const simulator = {
  name: 'simulator',
  local: { noStateReportedSql: undecidedChargeSql },
  // No limit, also for tests that call it like a bank.
  payoutsInFlight: 100,
  createCharge,
  getCharges,
  cancelCharge,
  checkPayout: async dictKey => (isUnavailable(dictKey) ? bankUnavailable() : ok(null)),
  sendPayout,
  getPayout: ({ id }) => getOrder(id, 'payout'),
  refundCharge,
  getRefund: ({ id }) => getOrder(id, 'refund'),
  // Takes every defense; the sandbox decides the dispute.
  answerDispute: async () => ok('taken' as const),
  checkHealth: async () => ok(null),
} satisfies Gateway

function isUnavailable(address: string): boolean {
  return address.startsWith('unavailable@')
}

async function createCharge(order: ChargeTerms): Promise<GatewayResult<OpenedCharge>> {
  if (isUnavailable(order.payerEmail)) return bankUnavailable()
  const brCode = buildSimulatedCode(order)
  if (!order.payerEmail.startsWith('fail@')) return ok({ brCode })
  await db().$executeRaw`
    INSERT INTO simulator_orders (id, kind, amount, state, settles_at)
    VALUES (${order.txid}, 'charge', ${order.amount}::bigint, 'failed',
      now() + make_interval(secs => ${SETTLES_AFTER_MS}::float8 / 1000))
    ON CONFLICT (id) DO NOTHING`
  return ok({ brCode, newsInMs: SETTLES_AFTER_MS })
}

const CHARGE_DECIDED = Prisma.sql`kind = 'charge' AND settles_at <= now()`

async function getCharges(txids: string[]): Promise<GatewayResult<ChargeAnswers>> {
  const rows = await db().$queryRaw<OrderRow[]>`
    SELECT id, amount, state, end_to_end_id, settles_at FROM simulator_orders
    WHERE id = ANY (${txids}) AND ${CHARGE_DECIDED}`
  return ok({ states: new Map(rows.map(row => [row.id, chargeState(row)])), unanswered: [] })
}

/** The simulator keeps no open charges, so that only one that was decided has another state. */
async function cancelCharge(txid: string): Promise<GatewayResult<ChargeState>> {
  const answers = await getCharges([txid])
  if (answers.outcome !== 'ok') return answers
  return ok(answers.value.states.get(txid) ?? { state: 'cancelled' })
}

function undecidedChargeSql(chargeId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`NOT EXISTS (SELECT FROM simulator_orders
    WHERE id = replace(${chargeId}::text, '-', '') AND ${CHARGE_DECIDED})`
}

function chargeState(row: OrderRow): ChargeState {
  const { id: txid, end_to_end_id: endToEndId, settles_at: paidAt } = row
  if (row.state === 'paid' && endToEndId)
    return { state: 'paid', payments: [{ endToEndId, amount: cents(row.amount), paidAt, txid }] }
  return { state: row.state === 'failed' ? 'failed' : 'expired' }
}

/** Decides a charge at the simulated bank. The first decision counts, but `paid` replaces `failed` and `expired`. */
export async function decideCharge(
  txid: string,
  amount: number,
  outcome: 'paid' | 'failed' | 'expired',
): Promise<{ state: ChargeState; isAccepted: boolean }> {
  const endToEndId = outcome === 'paid' ? newEndToEndId() : null
  const [accepted] = await db().$queryRaw<OrderRow[]>`
    INSERT INTO simulator_orders AS o (id, kind, amount, state, end_to_end_id, settles_at)
    VALUES (${txid}, 'charge', ${amount}::bigint, ${outcome}, ${endToEndId}, now())
    ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, end_to_end_id = EXCLUDED.end_to_end_id,
      settles_at = EXCLUDED.settles_at
    WHERE o.state <> 'paid' AND (o.settles_at > clock_timestamp() OR EXCLUDED.state = 'paid')
    RETURNING id, amount, state, end_to_end_id, settles_at`
  const [stored] = accepted
    ? [accepted]
    : await db().$queryRaw<OrderRow[]>`
        SELECT id, amount, state, end_to_end_id, settles_at FROM simulator_orders WHERE id = ${txid}`
  if (!stored) throw new Invariant(`the simulator stored no order for charge ${txid}`)
  return { state: chargeState(stored), isAccepted: accepted !== undefined }
}

async function sendPayout(order: PayoutOrder): Promise<GatewayResult<OrderState>> {
  if (isUnavailable(order.dictKey)) return bankUnavailable()
  const code = refusalCode(order)
  const state = code ? 'refused' : order.dictKey.startsWith('hold@') ? 'taken' : 'done'
  return acceptOrder('payout', order.id, order.amount, state, code)
}

async function refundCharge(order: RefundOrder): Promise<GatewayResult<OrderState>> {
  const { id, amount, payerEmail = '' } = order
  if (payerEmail.startsWith('hold@')) return acceptOrder('refund', id, amount, 'taken', null)
  if (payerEmail.startsWith('reject@'))
    return acceptOrder('refund', id, amount, 'refused', 'simulated')
  return acceptOrder('refund', id, amount, 'done', null)
}

/** A key that is a document belongs to it; any other key, except stranger@, to whom the order names. */
function refusalCode({ dictKey, ownerDoc }: PayoutOrder): SimulatorReason | null {
  if (dictKey.startsWith('reject@')) return 'key_refused'
  const isOther = taxIdKind(dictKey) ? dictKey !== ownerDoc : dictKey.startsWith('stranger@')
  return ownerDoc !== null && isOther ? 'owner_differs' : null
}

/** Accepts an order once. A repeated id returns the state of the first order with this id. */
async function acceptOrder(
  kind: 'payout' | 'refund',
  id: string,
  amount: number,
  state: OrderState['state'],
  code: SimulatorReason | null,
): Promise<GatewayResult<OrderState>> {
  const reason = code && REJECTIONS[code]
  await db().$executeRaw`
    INSERT INTO simulator_orders
      (id, kind, amount, state, reason, reason_code, end_to_end_id, settles_at)
    VALUES (${id}, ${kind}, ${amount}::bigint, ${state}, ${reason}, ${code}, ${newEndToEndId()},
      now() + make_interval(secs => ${SETTLES_AFTER_MS}::float8 / 1000))
    ON CONFLICT (id) DO NOTHING`
  const order = await getOrder(id, kind)
  if (order.outcome === 'ok' && order.value === null)
    return { outcome: 'unknown', reason: 'not kept' }
  return order as GatewayResult<OrderState>
}

/** Decides a payout at the simulated bank at once, unless it has settled. */
export function decidePayout(
  id: string,
  amount: number,
  outcome: 'approved' | 'rejected',
  reasonText?: string,
): Promise<Decision> {
  return decideOrder('payout', id, amount, outcome === 'approved', reasonText)
}

/** Decides a refund likewise. */
export function decideRefund(
  id: string,
  amount: number,
  isDone: boolean,
  reasonText?: string,
): Promise<Decision> {
  return decideOrder('refund', id, amount, isDone, reasonText)
}

interface Decision {
  state: OrderState
  isAccepted: boolean
}

async function decideOrder(
  kind: 'payout' | 'refund',
  id: string,
  amount: number,
  isDone: boolean,
  reasonText?: string,
): Promise<Decision> {
  const state = isDone ? 'done' : 'refused'
  const code: SimulatorReason | null = reasonText === undefined ? 'simulated' : null
  const reason = reasonText ?? REJECTIONS.simulated
  const accepted = await db().$executeRaw`
    INSERT INTO simulator_orders AS o
      (id, kind, amount, state, reason, reason_code, end_to_end_id, settles_at)
    VALUES (${id}, ${kind}, ${amount}::bigint, ${state}, ${reason}, ${code}, ${newEndToEndId()}, now())
    ON CONFLICT (id) DO UPDATE SET state = EXCLUDED.state, reason = EXCLUDED.reason,
      reason_code = EXCLUDED.reason_code, settles_at = EXCLUDED.settles_at
    WHERE o.state = 'taken' OR o.settles_at > clock_timestamp()`
  const order = await getOrder(id, kind)
  if (order.outcome !== 'ok' || !order.value)
    throw new Invariant(`the simulator stored no order for ${kind} ${id}`)
  return { state: order.value, isAccepted: accepted === 1 }
}

/** Locks the row, so that a decision being stored is not missed. */
async function getOrder(id: string, kind: string): Promise<GatewayResult<OrderState | null>> {
  const [row] = await db().$queryRaw<(OrderRow & Refusal & { settled: boolean })[]>(Prisma.sql`
    SELECT *, settles_at <= now() AS settled
    FROM simulator_orders WHERE id = ${id} AND kind = ${kind} FOR SHARE`)
  if (!row) return ok(null)
  if (!row.settled || row.state === 'taken') return ok({ state: 'taken' })
  if (row.state === 'refused') return ok({ state: 'refused', ...refusalOf(row) })
  return ok({ state: 'done', endToEndId: row.end_to_end_id ?? '' })
}

function refusalOf({ reason, reason_code: code }: Refusal): BankRefusal {
  return code === null && reason !== null
    ? { code: 'other', params: { text: reason }, bankText: null }
    : { code: code ?? 'unspecified', params: {}, bankText: null }
}

/** Makes an end-to-end id of 32 characters: E, ISPB, UTC minute, 11 random characters. */
export function newEndToEndId(at = new Date()): string {
  const minute = at.toISOString().replace(/\D/g, '').slice(0, 12)
  // The first 12 digits of a UUID are random, and Node reads their bytes in advance: no system call for each id.
  return `E${ISPB}${minute}${randomUUID().replace('-', '').slice(0, 11)}`
}

function ok<Value>(value: Value): GatewayResult<Value> {
  return { outcome: 'ok', value }
}

function bankUnavailable(): GatewayResult<never> {
  return { outcome: 'retryable', reason: 'The simulated bank is unavailable for this address' }
}
