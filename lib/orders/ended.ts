import { recordAudit } from '#lib/audit/record.ts'
import { nextAskAt } from '#lib/banks/pauses.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { cents } from '#lib/core/money.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { isInBucket } from '#lib/db/sql.ts'
import { noteItem } from '#lib/differences/differences.ts'
import {
  type EndState,
  type Order,
  orderColumns,
  type RulesByKind,
  rulesOf,
} from '#lib/orders/order.ts'
import { logged, queryOrder } from '#lib/orders/place.ts'
import { ORDER_ID } from '#lib/orders/queue.ts'

/** Few orders are ended by people, and a bank that hangs must not hold the job for long. */
const BATCH_MAX = 5

/**
 * Asks the bank about orders that people ended: after 1 min, 10 min, 1 h, then daily for 7 days. A
 * final answer ends the questions; one that contradicts the end is stored. About an order that the bank ended, it
 * asks when money came back. Returns how many were due.
 */
export async function askAboutEnded(byKind: RulesByKind): Promise<number> {
  const due = await claimDue()
  // A failure must not stop the others; the order is due again at its next time.
  for (const order of due)
    await askAbout(order, byKind).catch(err =>
      log().error({ err, ...logged(order) }, 'asking about an end failed'),
    )
  return due.length
}

/**
 * Has the bank asked once more about withdrawals that are done and of which it says that money came back. Should that
 * fail, the list of what came back is the net.
 */
export async function askAboutReturned(connectionId: string, bankIds: string[]): Promise<void> {
  const ids = bankIds.filter(id => ORDER_ID.test(id))
  await db().$executeRaw`
    UPDATE bank_orders o SET end_ask_at = now()
    FROM unnest(${ids}::uuid[]) AS i (id) JOIN accounts a ON ${isInBucket(Prisma.sql`i.id`)}
    WHERE o.account_id = a.id AND o.id = i.id AND o.connection_id = ${connectionId}::uuid
      AND o.kind = 'withdrawal' AND o.state = 'done'`
}

/** The next time is stored before the call: of two workers, one asks. */
function claimDue(): Promise<Order[]> {
  return db().$queryRaw<Order[]>`
    UPDATE bank_orders o SET end_ask_at = ${nextAskAt(Prisma.sql`o.ended_at`)}
    WHERE (o.account_id, o.id) IN (
      SELECT account_id, id FROM bank_orders WHERE end_ask_at <= now()
      ORDER BY end_ask_at LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)
    RETURNING ${orderColumns('o')}`
}

async function askAbout(order: Order, byKind: RulesByKind): Promise<void> {
  const rules = rulesOf(order, byKind)
  const gateway = await gatewayOfConnection(order.connectionId)
  const result = await queryOrder(order, gateway, await rules.hide(order))
  if (result.outcome !== 'ok' || !result.value || result.value.state === 'taken') return
  // Ends nothing, because it has ended, but books what came back of it.
  await rules.end(order, result.value, null)
  if (await noteContradiction(order, result.value.state)) return
  const { accountId, id } = order
  await db().bankOrder.updateMany({ where: { accountId, id }, data: { endAskAt: null } })
}

/**
 * Stores that the bank reports the opposite of how people ended an order, for the operator: in the row,
 * the differences, the audit log of the operator and the health page. Moves no money. Only the first time
 * has an effect, and none if the order was not ended by people. Returns whether it had one.
 */
export async function noteContradiction(
  order: Order,
  reported: EndState['state'],
): Promise<boolean> {
  const { accountId, id, kind, connectionId, mode, amount } = order
  const contradicted = reported === 'done' ? 'not_sent' : 'sent'
  const isNoted = await transaction(async tx => {
    const noted = await tx.$executeRaw`
      UPDATE bank_orders SET contradiction = ${reported}, contradicted_at = now(), end_ask_at = NULL
      WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
        AND ended_at IS NOT NULL AND end_outcome = ${contradicted} AND contradicted_at IS NULL`
    if (noted === 0) return false
    const entry = { action: 'order.contradicted', target: id }
    const after = { account_id: accountId, ended_as: contradicted, bank_reports: reported }
    await recordAudit(tx, { ...entry, actor: { type: 'system' }, after: { kind, ...after } })
    const facts = { ...after, ...(await nameOrder(tx, order)), mode, amount: cents(amount) }
    const item = { kind: 'order_contradicted', key: removeHyphens(id) } as const
    await noteItem(tx, { connectionId, ...item, facts })
    return true
  })
  if (isNoted)
    log().error({ ...logged(order), reported }, `bank contradicts how a ${order.kind} was ended`)
  return isNoted
}

/** Names an order by the facts that the page of a difference shows. */
async function nameOrder(tx: Tx, { accountId, id, kind }: Order): Promise<Record<string, string>> {
  if (kind === 'withdrawal') return { withdrawal_id: id }
  if (kind !== 'refund') return { order_id: id }
  const where = { accountId_id: { accountId, id } }
  const { chargeId } = await tx.refund.findUniqueOrThrow({ where, select: { chargeId: true } })
  return { refund_id: id, transaction_id: chargeId }
}
