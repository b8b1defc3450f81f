import type { PaymentReturn, ReceivedPayment } from '#lib/banks/gateway.ts'
import { endDispute, lockDisputed, readRemainder } from '#lib/charges/disputes/dispute.ts'
import { recordChargeEvents } from '#lib/charges/list.ts'
import { newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, utc } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { holdOrder, noteItem, resolveReturned } from '#lib/differences/differences.ts'
import { bookOne, type Movement } from '#lib/ledger/book.ts'
import { lockBooks, openDisputeLedgers, readDisputes } from '#lib/ledger/owed.ts'
import { isOrderId } from '#lib/orders/order.ts'

/** A return of a payment that is booked, by no order of Troco. */
interface FoundReturn extends PaymentReturn {
  endToEndId: string
  /** The claim of the payment: of two connections to a bank account, one has booked it. */
  connectionId: string
  accountId: string
  subjectId: string
}

/**
 * Books what banks gave back of payments by themselves: for the payer's bank (MED), or as people ordered it at the
 * bank. Each return is booked once, against whoever has the money of the payment by then. Payments that are not
 * booked yet are left out: a later list contains them again. Called twice, it does nothing.
 */
export async function bookReturns(
  connectionId: string,
  payments: Pick<ReceivedPayment, 'endToEndId' | 'returns'>[],
): Promise<void> {
  for (const found of await findUnbooked(connectionId, payments)) {
    const orderId = ownOrderId(found)
    await (orderId === null ? bookReturn(found) : holdUnknownOrder(found, orderId))
  }
}

/** Returns the id of the order of a return that has Troco's form of ids, else null. */
function ownOrderId({ orderId }: PaymentReturn): string | null {
  return orderId !== null && isOrderId(orderId) ? orderId : null
}

/** Lists overlap: most of what they contain is an order of Troco or booked, and must lock no charge. */
async function findUnbooked(
  connectionId: string,
  payments: Pick<ReceivedPayment, 'endToEndId' | 'returns'>[],
): Promise<FoundReturn[]> {
  const listed = payments.flatMap(({ endToEndId, returns = [] }) =>
    returns.map(each => ({ ...each, endToEndId })),
  )
  if (listed.length === 0) return []
  const orderIds = listed.map(ownOrderId)
  const rows = await db().$queryRaw<
    { nth: bigint; connectionId: string; accountId: string; subjectId: string }[]
  >`
    SELECT r.nth, b.connection_id AS "connectionId", b.account_id AS "accountId", b.subject_id AS "subjectId"
    FROM unnest(${listed.map(({ endToEndId }) => endToEndId)}::text[], ${listed.map(({ id }) => id)}::text[],
      ${listed.map(({ orderId }) => orderId)}::text[], ${orderIds}::uuid[])
      WITH ORDINALITY AS r (end_to_end_id, return_id, order_name, order_id, nth)
    JOIN booked_payments b
      ON b.end_to_end_id IN (r.end_to_end_id, ${connectionId}::text || ' ' || r.end_to_end_id)
    LEFT JOIN unmatched_resolutions s ON s.account_id = b.account_id AND s.payment_id = b.subject_id
    WHERE NOT EXISTS (SELECT FROM payment_returns k WHERE k.connection_id = b.connection_id
        AND k.end_to_end_id = r.end_to_end_id AND ${isSameReturn(Prisma.sql`r.return_id`, Prisma.sql`r.order_name`)})
      AND NOT EXISTS (SELECT FROM bank_orders o WHERE o.id = r.order_id
        AND o.account_id IN (b.account_id, s.to_account_id, ${OPERATOR_ACCOUNT_ID}::uuid))
    ORDER BY r.nth`
  return rows.flatMap(({ nth, ...claim }) => {
    const each = listed[Number(nth) - 1]
    return each ? { ...each, ...claim } : []
  })
}

/**
 * Condition that a return of the same payment is the booked return `k`. Banks may name their own id of it only in some
 * responses, and the id of its order else.
 */
function isSameReturn(id: Prisma.Sql, orderId: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`(k.return_id = ${id}
    OR k.order_id = ${orderId} AND ${orderId} IN (k.return_id, ${id}))`
}

async function isBooked(tx: Tx, found: FoundReturn): Promise<boolean> {
  const { connectionId, endToEndId, id, orderId } = found
  const rows = await tx.$queryRaw<unknown[]>`
    SELECT FROM payment_returns k WHERE k.connection_id = ${connectionId}::uuid
      AND k.end_to_end_id = ${endToEndId} AND ${isSameReturn(Prisma.sql`${id}::text`, Prisma.sql`${orderId}::text`)}`
  return rows.length > 0
}

/** An order that Troco does not know has Troco's form of ids: a restore has lost it, or another program has made it. */
async function holdUnknownOrder(found: FoundReturn, id: string): Promise<void> {
  const { connectionId, accountId, returnedAt: orderedAt } = found
  const order = { ...found, id, orderedAt }
  await holdOrder('refund_unbooked', connectionId, order, 'order_unknown', accountId)
}

/** Whose money a payment is, and how much of it is left; all that decides about it is locked. */
interface Owner {
  /** credit: of an account, without a charge. own: the operator's. */
  of: 'charge' | 'credit' | 'unmatched' | 'own'
  accountId: string
  mode: Mode
  chargeId: string | null
  left: number
  /** Cents that a lost dispute or a correcting entry has taken already. A return of that money moves nothing more. */
  lost: number
}

/**
 * Books a return in one transaction. One of more than is left of the payment is a difference and moves nothing. In a
 * charge, one for a dispute (MED) is the money that a lost dispute has taken, or ends the dispute that it covers.
 */
async function bookReturn(found: FoundReturn): Promise<void> {
  const { connectionId, amount, nature } = found
  await transaction(async tx => {
    const owner = await lockOwner(tx, found)
    if (!owner) return
    if (await isBooked(tx, found)) return
    if (amount > owner.left + owner.lost) return noteExcess(tx, found, owner)
    const isForDispute = nature?.startsWith('MED') ?? false
    const { left, lost } = isForDispute ? await endReturnedDisputes(tx, owner, amount) : owner
    const disputed = isForDispute ? Math.min(amount, lost) : Math.max(0, amount - left)
    const id = await insertReturn(tx, found, owner, disputed)
    await moveReturned(tx, owner, { id, connectionId }, amount - disputed)
    if (owner.of === 'charge')
      await recordChargeEvents(
        tx,
        'transaction.returned',
        'return',
        returnedSql(owner.accountId, id),
      )
    if (owner.of === 'unmatched' && amount === left)
      await resolveReturned(tx, { connectionId, key: found.endToEndId })
  })
  wake('deliveries')
}

/** Returns null while the bank gives the payment back for people: the return may be theirs. */
async function lockOwner(tx: Tx, found: FoundReturn): Promise<Owner | null> {
  const { accountId, subjectId } = found
  if (accountId !== OPERATOR_ACCOUNT_ID) return lockCharge(tx, accountId, subjectId)
  const payment = await lockOperatorPayment(tx, found)
  if (!payment || payment.isBeingGivenBack) return null
  const { mode, entry, toAccountId, chargeId } = payment
  if (toAccountId && chargeId) return lockCharge(tx, toAccountId, chargeId)
  if (toAccountId) await lockAccount(tx, toAccountId, mode)
  const owner = { mode, chargeId: null, left: cents(payment.left), lost: cents(payment.lost) }
  if (toAccountId) return { ...owner, of: 'credit', accountId: toAccountId }
  return { ...owner, of: entry === null ? 'unmatched' : 'own', accountId }
}

async function lockCharge(tx: Tx, accountId: string, id: string): Promise<Owner> {
  const { mode: text } = await tx.charge.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
  })
  const mode = text as Mode
  await openDisputeLedgers(accountId, mode, tx)
  await lockDisputed(tx, { accountId, id, mode })
  const { left, lost } = await readRemainder(tx, { accountId, id })
  return { of: 'charge', accountId, mode, chargeId: id, left, lost }
}

async function lockAccount(tx: Tx, accountId: string, mode: Mode): Promise<void> {
  await openDisputeLedgers(accountId, mode, tx)
  await lockBooks(tx, accountId, mode)
}

interface OperatorPayment {
  mode: Mode
  left: bigint
  /** Cents that correcting entries have taken, less the returns that explain them. */
  lost: bigint
  /** How people have resolved an unmatched payment; null: not yet. */
  entry: string | null
  toAccountId: string | null
  chargeId: string | null
  isBeingGivenBack: boolean
}

/** Locks an unmatched payment by its item, so that people do not resolve it meanwhile. */
async function lockOperatorPayment(
  tx: Tx,
  { accountId, subjectId, connectionId, endToEndId }: FoundReturn,
): Promise<OperatorPayment | undefined> {
  await tx.$queryRaw`
    SELECT FROM differences i JOIN unmatched_payments p
      ON i.connection_id = p.connection_id AND i.kind = p.reason AND i.key = p.end_to_end_id
    WHERE p.account_id = ${accountId}::uuid AND p.id = ${subjectId}::uuid FOR UPDATE OF i`
  const [payment] = await tx.$queryRaw<OperatorPayment[]>`
    SELECT p.mode, (CASE s.entry WHEN 'give_back' THEN 0 ELSE p.amount - r.moved - c.corrected END)::bigint AS left,
      (c.corrected - r.explained)::bigint AS lost,
      s.entry, s.to_account_id AS "toAccountId", s.charge_id AS "chargeId",
      EXISTS (SELECT FROM unmatched_returns r WHERE r.account_id = ${accountId}::uuid
        AND r.payment_id = ${subjectId}::uuid AND r.status = 'pending') AS "isBeingGivenBack"
    FROM unmatched_payments p
    LEFT JOIN unmatched_resolutions s ON s.account_id = p.account_id AND s.payment_id = p.id
    CROSS JOIN LATERAL (SELECT COALESCE(sum(k.amount - k.disputed_amount), 0) AS moved,
        COALESCE(sum(k.disputed_amount), 0) AS explained FROM payment_returns k
      WHERE k.connection_id = ${connectionId}::uuid AND k.end_to_end_id = ${endToEndId}) r
    CROSS JOIN LATERAL (SELECT COALESCE(sum(x.amount), 0) AS corrected
      FROM differences i JOIN corrections x ON x.item_id = i.id
      WHERE i.connection_id = p.connection_id AND i.kind = p.reason AND i.key = p.end_to_end_id
        AND x.booked_at IS NOT NULL) c
    WHERE p.account_id = ${accountId}::uuid AND p.id = ${subjectId}::uuid`
  return payment
}

/** Ends open disputes of which the bank has now returned all; else a dispute stays held until the bank reports its end. */
async function endReturnedDisputes(tx: Tx, owner: Owner, amount: number) {
  const { accountId, chargeId } = owner
  if (chargeId === null) return owner
  const charge = { accountId, id: chargeId }
  const where = { accountId, chargeId, status: 'open' }
  const open = await tx.dispute.findMany({ where, orderBy: { createdAt: 'asc' } })
  let returned = amount + (await readRemainder(tx, charge)).returned - owner.lost
  for (const dispute of open) {
    const held = cents(dispute.amount - dispute.returnedAmount)
    if (held === 0 || held > returned) continue
    await endDispute(tx, dispute, 'lost', cents(dispute.amount))
    returned -= held
  }
  return readRemainder(tx, charge)
}

async function insertReturn(
  tx: Tx,
  { connectionId, endToEndId, orderId, subjectId, ...found }: FoundReturn,
  { of, accountId, mode, chargeId }: Owner,
  disputedAmount: number,
): Promise<string> {
  const id = newRoutableId(accountId)
  const { id: returnId, amount, nature, returnedAt } = found
  const isOfUnmatched = found.accountId === OPERATOR_ACCOUNT_ID
  await tx.paymentReturn.create({
    data: {
      accountId,
      id,
      mode,
      connectionId,
      endToEndId,
      returnId,
      orderId,
      chargeId,
      paymentId: isOfUnmatched ? subjectId : null,
      amount,
      disputedAmount,
      nature,
      returnedAt,
    },
  })
  if (of === 'charge')
    await tx.$executeRaw`
      UPDATE charges SET returned_amount = returned_amount + ${amount - disputedAmount}::bigint, updated_at = now()
      WHERE account_id = ${accountId}::uuid AND id = ${chargeId}::uuid`
  return id
}

/** A merchant pays from what is available, and owes the rest. */
async function moveReturned(
  tx: Tx,
  { of, accountId, mode }: Owner,
  source: { id: string; connectionId: string },
  amount: number,
): Promise<void> {
  const move = async (movement: ReturnMovement, part: number) => {
    if (part > 0) await bookOne(tx, movement, { ...source, accountId, mode, amount: part })
  }
  if (of === 'unmatched') return move('unmatched_payment_returned', amount)
  if (of === 'own') return move('own_payment_returned', amount)
  const { available } = await readDisputes(tx, accountId, mode)
  const paid = Math.min(available, amount)
  await move('payment_returned', paid)
  await move('payment_return_owed', amount - paid)
}

type ReturnMovement = Extract<Movement, `${string}payment_return${string}`>

/** Selects what `recordChargeEvents` says of a return. */
const returnedSql = (accountId: string, id: string) => Prisma.sql`
  SELECT r.account_id, r.charge_id, ${newRoutableId(accountId)}::uuid AS event_id,
    ${asJson(Prisma.sql`r.return_id AS id, r.amount, r.nature, ${utc('r.returned_at')}`)} AS cause
  FROM payment_returns r WHERE r.account_id = ${accountId}::uuid AND r.id = ${id}::uuid`

function noteExcess(tx: Tx, found: FoundReturn, { accountId, chargeId, mode, left }: Owner) {
  const { connectionId, id, endToEndId, amount, nature } = found
  const facts = {
    account_id: accountId,
    transaction_id: chargeId,
    mode,
    end_to_end_id: endToEndId,
    return_id: id,
    amount,
    left_amount: left,
    nature,
  }
  const key = `${endToEndId} ${id}`
  return noteItem(tx, { connectionId, kind: 'return_above_payment', key, facts })
}
