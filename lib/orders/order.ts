import { randomUUID } from 'node:crypto'
import type { OrderState } from '#lib/banks/gateway.ts'
import { mayArrive } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { claimPicked, leaseMs, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { isInBucket } from '#lib/db/sql.ts'
import type { EndOutcome } from '#lib/orders/states.ts'
import { PROPOSAL_HOURS } from '#lib/people/approvers.ts'

/**
 * An order lets money leave through a bank, under an id that never changes: that of the withdrawal, refund or return
 * of an unmatched payment that it sends. A row of `bank_orders` is the job.
 *
 * held: a person decides first. waiting: not at the bank; to be sent when due. placed: sent, or about to be; the bank
 * is asked about it when due. done, refused: ended. A call that had no effect lets a placed order wait again.
 */
export type OrderKind = 'withdrawal' | 'refund' | 'return'
type OrderOperation = 'payout' | 'refund'

export interface OrderKey {
  accountId: string
  id: string
}

/** An order that a worker asks a bank about. */
export interface Order extends OrderKey {
  kind: OrderKind
  operation: OrderOperation
  mode: Mode
  connectionId: string
  amount: bigint
  /** The Pix key of a payout; the end-to-end id of the payment that a refund returns. */
  target: string
  /** The document that must own the key of a payout; null: any. */
  ownerDoc: string | null
  /** The bank's id of it, once the bank has named one. */
  bankId: string | null
  /** The request that caused it: see `currentCause` in lib/core/trace.ts. */
  trace: string | null
}

/** Whether a call that should send the order had no response and may still reach the bank. */
export function mayHaveArrived(
  order: OrderKey & Pick<Order, 'operation'>,
  tx?: Tx,
): Promise<boolean> {
  return mayArrive(order, order.operation === 'payout' ? 'sendPayout' : 'refundCharge', tx)
}

/** Columns of an Order, from a row. */
export function orderColumns(row: 'o' | 'r'): Prisma.Sql {
  return Prisma.raw(`
  ${row}.account_id AS "accountId", ${row}.id, ${row}.kind, ${row}.operation, ${row}.mode,
  ${row}.connection_id AS "connectionId", ${row}.amount, ${row}.target, ${row}.owner_doc AS "ownerDoc",
  ${row}.bank_id AS "bankId", ${row}.trace`)
}

export type EndState = Extract<OrderState, { state: 'done' | 'refused' }>
export type TakenState = Extract<OrderState, { state: 'taken' }>

/** What `endOrderSql` adds to an end that people have decided. */
export interface PeoplesEnd {
  tx: Tx
  condition: Prisma.Sql
  assignments: Prisma.Sql
}

/** What withdrawals, refunds and returns contribute. The rest is the same for all. */
export interface OrderRules {
  /**
   * Books an end that the bank reports, in one statement with `endOrderSql`. Returns false if the order has ended
   * before, or the lease was lost.
   */
  end: (order: Order, reported: EndState, lease: string | null) => Promise<boolean>
  /** Books how people end an order, in their transaction. Returns false if it may not be ended, or has ended. */
  endByPeople: (order: OrderKey, outcome: EndOutcome, decision: PeoplesEnd) => Promise<boolean>
  /** Stores what the bank reports about an order that it has taken. */
  take?: (order: Order, reported: TakenState) => Promise<void>
  /** Returns the time for which the order must not be sent; null: it may be. Asked just before it is sent. */
  pauseMs?: (order: Order) => Promise<number | null>
  /** Age from which an order is refused that no call has brought to the bank. Default: never. */
  giveUpMs?: number
  /** Returns replacements for private texts that the bank may repeat. */
  hide: (order: Order) => Promise<Record<string, string>>
  /** Returns the payer's address, by which the simulator chooses the outcome of a refund. No bank gets it. */
  findPayerEmail?: (order: Order) => Promise<string>
}

/** A sender claims orders of these kinds only. */
export type RulesByKind = { [Kind in OrderKind]?: OrderRules }

export function rulesOf({ kind }: Order, byKind: RulesByKind): OrderRules {
  const rules = byKind[kind]
  if (!rules) throw new Invariant(`no rules for an order of the kind ${kind}`)
  return rules
}

/**
 * Builds the CTE that stores the order of each row `s` of `from`, in the statement that makes the row. `isHeld`: a
 * person decides first.
 */
export function insertOrderSql(
  [kind, operation]: readonly [OrderKind, OrderOperation],
  from: Prisma.Sql,
  {
    target,
    ownerDoc = Prisma.sql`NULL`,
    trace = Prisma.sql`NULL`,
    isHeld = Prisma.sql`false`,
  }: {
    target: Prisma.Sql
    ownerDoc?: Prisma.Sql
    trace?: Prisma.Sql
    isHeld?: Prisma.Sql
  },
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO bank_orders (account_id, id, kind, operation, mode, connection_id, amount, target, owner_doc, trace,
      state, due_at)
    SELECT s.account_id, s.id, ${Prisma.raw(`'${kind}', '${operation}'`)}, s.mode, s.connection_id, s.amount,
      ${target}, ${ownerDoc}, ${trace}, CASE WHEN ${isHeld} THEN 'held' ELSE 'waiting' END,
      CASE WHEN NOT ${isHeld} THEN now() END
    FROM ${from}`
}

/**
 * Builds the CTE `ended` that every end begins with: of two workers, people and the sandbox, one ends the order. The
 * rows that it returns have `account_id` and `id`. `lease`: of the worker; one that has lost it ends nothing.
 * `condition`: of the order `o`; default: it is not held.
 */
export function endOrderSql(
  { accountId, id }: OrderKey,
  state: EndState['state'],
  {
    bankId,
    lease,
    condition,
    assignments,
  }: {
    bankId?: string | null | undefined
    lease?: string | null | undefined
    condition?: Prisma.Sql | undefined
    assignments?: Prisma.Sql | undefined
  },
): Prisma.Sql {
  return Prisma.sql`
    UPDATE bank_orders o SET state = ${state}, due_at = NULL, lease = NULL, ${assignments ?? Prisma.empty}
      bank_id = COALESCE(o.bank_id, ${bankId ?? null})
    WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND o.state IN ('held', 'waiting', 'placed')
      AND ${condition ?? notHeld} AND (${lease ?? null}::uuid IS NULL OR o.lease = ${lease ?? null}::uuid)
    RETURNING o.account_id, o.id`
}

/** Condition on an order `o`: no person decides about it first. */
const notHeld = Prisma.sql`o.state <> 'held'`

/** Condition on an order `o` that has not ended. */
export const isOpen = Prisma.sql`o.state IN ('held', 'waiting', 'placed')`

/** Locks an order before a transaction changes what it sends. Returns its mode; null: there is none. */
export async function lockOrder(tx: Tx, { accountId, id }: OrderKey): Promise<Mode | null> {
  const [row] = await tx.$queryRaw<{ mode: Mode }[]>`
    SELECT mode FROM bank_orders WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid FOR UPDATE`
  return row?.mode ?? null
}

/** Builds the CTE that locks an order if it is held: of a release and an end, one has an effect. */
export function lockHeldSql({ accountId, id }: OrderKey): Prisma.Sql {
  return Prisma.sql`
    SELECT o.account_id, o.id FROM bank_orders o
    WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND o.state = 'held' FOR UPDATE`
}

/** Builds the CTE that lets the held orders of the CTE `from` be sent. */
export function releaseOrdersSql(from: string): Prisma.Sql {
  return Prisma.sql`
    UPDATE bank_orders o SET state = 'waiting', due_at = now() FROM ${Prisma.raw(from)} f
    WHERE o.account_id = f.account_id AND o.id = f.id AND o.state = 'held'`
}

/** An order that has not ended after this time no longer keeps others from being sent, and may be sent again. */
const SLOT_MS = 30_000
const FIRST_ACCOUNT = '00000000-0000-0000-0000-000000000000'

const isEndProposedSql = (row: 'o' | 'r') => Prisma.sql`
  COALESCE(${Prisma.raw(row)}.end_proposed_at > now() - ${PROPOSAL_HOURS} * interval '1 hour', false)`

/** Condition that a proposal of how to end order `o` stands, or was carried out within its time. */
export const isEndProposed = isEndProposedSql('o')

export interface ClaimedOrder extends Order {
  /** Fencing token: an update of the row must match it. */
  lease: string
  attempts: number
  /** Whether an earlier call may have brought it to the bank. */
  wasSent: boolean
  /** Whether it has got a slot with this claim, and may be sent; else the bank is asked about it. */
  isFresh: boolean
  /** An order that the bank does not have may still arrive there until its slot is over. */
  isSlotOver: boolean
  isEndProposed: boolean
  ageMs: number
  /** Time since it was sent first. */
  sentAgoMs: number
}

/** Columns of a claimed order, from a row `r`. */
const claimedColumns = Prisma.sql`
  ${orderColumns('r')}, r.lease, r.attempts, r.sent_at IS NOT NULL AS "wasSent", r.slot_until <= clock_timestamp() AS "isSlotOver",
  ${isEndProposedSql('r')} AS "isEndProposed",
  (extract(epoch FROM clock_timestamp() - r.created_at) * 1000)::float8 AS "ageMs",
  COALESCE(extract(epoch FROM clock_timestamp() - r.sent_at) * 1000, 0)::float8 AS "sentAgoMs"`

/** The orders of a connection that are claimed together. `lastServed`: the account that was served last. */
export interface OrderQueue {
  connectionId: string
  operation: OrderOperation
  kinds: OrderKind[]
  lastServed: string
}

type Claimable = 'waiting' | 'placed'

/** Returns the queue of a connection in a process that has served none of it. */
export function newQueue(
  connectionId: string,
  operation: OrderOperation,
  kinds: OrderKind[],
): OrderQueue {
  return { connectionId, operation, kinds, lastServed: FIRST_ACCOUNT }
}

const pausedSql = ({ connectionId, operation }: OrderQueue) => Prisma.sql`
  EXISTS (SELECT FROM order_queues q WHERE q.connection_id = ${connectionId}::uuid
    AND q.operation = ${operation} AND q.paused_until > clock_timestamp())`

const dueSql = ({ connectionId, operation, kinds }: OrderQueue, state: Claimable) => Prisma.sql`
  o.connection_id = ${connectionId}::uuid AND o.operation = ${operation}
  AND o.state = ${Prisma.raw(`'${state}'`)} AND o.due_at <= now() AND o.kind = ANY (${kinds})`

/** Orders of all kinds that may be at the bank, and whose slot is not over. */
const inFlightSql = ({ connectionId, operation }: OrderQueue) => Prisma.sql`(
  SELECT count(*)::int FROM bank_orders o WHERE o.connection_id = ${connectionId}::uuid
    AND o.operation = ${operation} AND o.state = 'placed'
    AND o.slot_until > clock_timestamp())`

/**
 * Claims due orders, accounts in turn; with few accounts, several of each. Those of an account are sent in the order of
 * their ids; one that is due later is overtaken. One that waits gets a slot. Nothing that waits is claimed while the bank has asked for a pause.
 */
export async function claimDue(
  queue: OrderQueue,
  state: Claimable,
  limit: number,
): Promise<ClaimedOrder[]> {
  const after = queue.lastServed
  const due = await claimInTurn(queue, state, { after, limit })
  const accounts = due.map(({ accountId }) => accountId)
  queue.lastServed = accounts.sort().at(-1) ?? FIRST_ACCOUNT
  // After the last account, the first one has its turn.
  if (due.length > 0 || after === FIRST_ACCOUNT) return due
  return claimDue(queue, state, limit)
}

/**
 * Claims orders that wait, as many as the bank lets be in flight, of all processes together: one claim at a time
 * per queue, which counts the slots after it has the lock. A slot ends by itself, so a dead worker keeps none.
 */
export async function claimSlots(
  queue: OrderQueue,
  { payoutsInFlight }: Pick<ServedConnection, 'payoutsInFlight'>,
  limit: number,
): Promise<ClaimedOrder[]> {
  // Without a lock, so that processes wait for each other only if something may be sent.
  const [row] = await db().$queryRaw<{ mayStart: boolean }[]>`
    SELECT EXISTS (SELECT FROM bank_orders o WHERE ${dueSql(queue, 'waiting')})
      AND ${inFlightSql(queue)} < ${payoutsInFlight}::int AND NOT ${pausedSql(queue)} AS "mayStart"`
  if (!row?.mayStart) return []
  return transaction(async tx => {
    let turn = await lockQueue(tx, queue)
    const [{ inFlight } = { inFlight: 0 }] = await tx.$queryRaw<{ inFlight: number }[]>`
      SELECT ${inFlightSql(queue)} AS "inFlight"`
    const lease = randomUUID()
    const claims: ClaimedOrder[] = []
    while (claims.length < Math.min(limit, payoutsInFlight - inFlight)) {
      const claimNext = (after: string) =>
        claimInTurn(queue, 'waiting', { after, limit: 1, lease, tx })
      const [claimed = (await claimNext(FIRST_ACCOUNT))[0]] = await claimNext(turn)
      if (!claimed) break
      claims.push(claimed)
      turn = claimed.accountId
    }
    await tx.$executeRaw`
      UPDATE order_queues SET last_served = ${turn}::uuid
      WHERE connection_id = ${queue.connectionId}::uuid AND operation = ${queue.operation}`
    return claims
  })
}

/** Returns the account that was served last. */
async function lockQueue(
  tx: Tx,
  { connectionId, operation }: Pick<Order, 'connectionId' | 'operation'>,
): Promise<string> {
  const [row] = await tx.$queryRaw<{ lastServed: string }[]>`
    INSERT INTO order_queues AS q (connection_id, operation) VALUES (${connectionId}::uuid, ${operation})
    ON CONFLICT (connection_id, operation) DO UPDATE SET last_served = q.last_served
    RETURNING COALESCE(q.last_served, ${FIRST_ACCOUNT}::uuid) AS "lastServed"`
  return row?.lastServed ?? FIRST_ACCOUNT
}

/**
 * Claims from the account after `after` on. Its cost depends on the limit, not on the number of due rows: the limit
 * of `picked`, never reached, tells the planner how few rows are updated.
 */
async function claimInTurn(
  queue: OrderQueue,
  state: Claimable,
  { after, limit, lease, tx }: { after: string; limit: number; lease?: string; tx?: Tx },
): Promise<ClaimedOrder[]> {
  const isFresh = state === 'waiting'
  const mayBeClaimed = isFresh
    ? Prisma.sql`${dueSql(queue, state)} AND NOT ${pausedSql(queue)}`
    : dueSql(queue, state)
  const nextAccount = (previous: Prisma.Sql) => Prisma.sql`(
    SELECT o.account_id FROM bank_orders o WHERE ${mayBeClaimed} AND o.account_id > ${previous}
    ORDER BY o.account_id LIMIT 1)`
  const picked = Prisma.sql`
    WITH RECURSIVE turns AS (
      SELECT ${nextAccount(Prisma.sql`${after}::uuid`)} AS account_id, 1 AS nth
      UNION ALL
      SELECT ${nextAccount(Prisma.sql`t.account_id`)}, t.nth + 1 FROM turns t
      WHERE t.account_id IS NOT NULL AND t.nth < ${limit}::int
    ), picked AS MATERIALIZED (
      SELECT d.* FROM turns t CROSS JOIN LATERAL (
        SELECT o.account_id, o.id FROM bank_orders o WHERE ${mayBeClaimed} AND o.account_id = t.account_id
        ORDER BY ${isFresh ? Prisma.empty : Prisma.sql`o.due_at,`} o.id
        LIMIT ${limit}::int / (SELECT GREATEST(count(account_id), 1) FROM turns)
        FOR UPDATE SKIP LOCKED) d
      LIMIT ${limit}::int
    )`
  const attempt = Prisma.sql`attempts = r.attempts + 1`
  const claimed = await claimPicked<Omit<ClaimedOrder, 'isFresh'>>('bank_orders', picked, {
    set: isFresh ? Prisma.sql`${attempt}, state = 'placed', slot_until = ${slotEnd}` : attempt,
    returning: claimedColumns,
    lease,
    tx,
  })
  return claimed.map(order => ({ ...order, isFresh }))
}

const slotEnd = Prisma.sql`clock_timestamp() + ${SLOT_MS} * interval '1 millisecond'`
const isHeldBy = ({ accountId, id, lease }: ClaimedOrder) => Prisma.sql`
  o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid AND o.lease = ${lease}::uuid`

/** Time for which a balance may not contain what was sent: banks report it late, and a reading takes time. */
const BALANCE_BEHIND_MS = 60_000

/**
 * Renews the lease and the slot of an order that is about to be sent, if the balance at the bank covers it beside what
 * was sent just before. Returns what keeps it from being sent; null: nothing. `lost`: its slot or lease. Waits for a
 * claim or renewal in progress, which may be giving the slot or the balance to another order.
 */
export async function renewSlot(
  order: ClaimedOrder,
  balance: number | null = null,
): Promise<'lost' | 'short' | null> {
  if (balance === null) return (await renew(order, db())) ? null : 'lost'
  return transaction(async tx => {
    await lockQueue(tx, order)
    const [row] = await tx.$queryRaw<{ isCovered: boolean }[]>`
      SELECT ${order.amount} <= ${balance} - COALESCE(sum(o.amount), 0) AS "isCovered" FROM bank_orders o
      WHERE o.connection_id = ${order.connectionId}::uuid AND o.operation = ${order.operation}
        AND o.state IN ('placed', 'done') AND o.sent_at IS NOT NULL AND o.id <> ${order.id}::uuid
        AND o.slot_until > clock_timestamp() + ${SLOT_MS - BALANCE_BEHIND_MS} * interval '1 millisecond'`
    if (!row?.isCovered) return 'short'
    return (await renew(order, tx)) ? null : 'lost'
  })
}

async function renew(order: ClaimedOrder, client: Tx): Promise<boolean> {
  const { connectionId, operation } = order
  const renewed = await client.$executeRaw`
    WITH queue AS MATERIALIZED (
      SELECT connection_id FROM order_queues
      WHERE connection_id = ${connectionId}::uuid AND operation = ${operation} FOR UPDATE)
    UPDATE bank_orders o SET due_at = ${nowPlusMs(leaseMs())}, sent_at = COALESCE(o.sent_at, now()),
      slot_until = ${slotEnd}
    WHERE ${isHeldBy(order)} AND o.state = 'placed'
      AND o.slot_until > (SELECT clock_timestamp() FROM (SELECT count(*) FROM queue) q)`
  return renewed === 1
}

/**
 * Gives the slot back after a call without effect, or before any: the order waits again, as unsent as before. Without `isAttempt`, it
 * counts no attempt, so that retries stay frequent afterwards.
 */
export async function releaseSlot(
  order: ClaimedOrder,
  pauseMs: number,
  isAttempt = true,
): Promise<void> {
  await db().$executeRaw`
    UPDATE bank_orders o SET state = 'waiting', due_at = ${nowPlusMs(pauseMs)}, lease = NULL, slot_until = NULL,
      sent_at = CASE WHEN ${order.wasSent} THEN o.sent_at END, attempts = o.attempts - ${isAttempt ? 0 : 1}::int
    WHERE ${isHeldBy(order)} AND o.state = 'placed'`
}

/**
 * Lets the bank be asked about an order again: after 1 to 5 s while it has its slot, then after a sixth of the time
 * since it was sent, up to 10 min. Not before `pauseMs`.
 */
export async function askLater(
  order: ClaimedOrder,
  pauseMs: number,
  bankId: string | null = null,
): Promise<void> {
  const ageS = Prisma.sql`(extract(epoch FROM now() - o.slot_until) + ${SLOT_MS / 1_000}::float8)`
  const pauseS = Prisma.sql`LEAST(600, GREATEST(1, LEAST(5, ${ageS}), ${ageS} / 6))`
  await db().$executeRaw`
    UPDATE bank_orders o SET lease = NULL, bank_id = COALESCE(o.bank_id, ${bankId}),
      due_at = now() + make_interval(secs => GREATEST(${pauseMs / 1_000}::float8, ${pauseS}))
    WHERE ${isHeldBy(order)} AND o.state = 'placed'`
}

/** Sends nothing of the queue for the time that the bank asks for. */
export async function pauseQueue(
  { connectionId, operation }: Pick<Order, 'connectionId' | 'operation'>,
  pauseMs: number,
): Promise<void> {
  await db().$executeRaw`
    INSERT INTO order_queues AS q (connection_id, operation, paused_until)
    VALUES (${connectionId}::uuid, ${operation}, ${nowPlusMs(pauseMs)})
    ON CONFLICT (connection_id, operation)
      DO UPDATE SET paused_until = GREATEST(q.paused_until, EXCLUDED.paused_until)`
}

export interface FoundOrder extends Order {
  state: string
  /** Of the worker that calls the bank about it. */
  lease: string | null
}

/** The accounts that can have made an id, and the operator: no index of orders by their ids alone is needed. */
const possibleOwners = (id: string | Prisma.Sql) => Prisma.sql`(
  SELECT a.id FROM accounts a WHERE ${isInBucket(id)} UNION ALL SELECT ${OPERATOR_ACCOUNT_ID}::uuid)`

/** Finds an order by its id alone, also as a bank has it. */
export async function findOrder(id: string): Promise<FoundOrder | null> {
  const [found] = await db().$queryRaw<FoundOrder[]>`
    SELECT ${orderColumns('o')}, o.state, o.lease FROM ${possibleOwners(id)} a
    JOIN bank_orders o ON o.account_id = a.id AND o.id = ${id}::uuid`
  return found ?? null
}

/** Whether a bank's id has the form in which Troco sends those of orders. */
export function isOrderId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}

/**
 * Makes the placed orders of a connection due that a bank names, unless it is being asked about them. Returns the ids
 * of those that are open; the others have ended, or there never was one. An order that waits stays: it would be sent.
 */
export async function hastenOrders(connectionId: string, bankIds: string[]): Promise<Set<string>> {
  const ids = bankIds.filter(isOrderId)
  if (ids.length === 0) return new Set()
  const found = await db().$queryRaw<{ id: string }[]>`
    WITH named AS MATERIALIZED (
      SELECT o.account_id, o.id, o.state FROM unnest(${ids}::uuid[]) AS i (id)
      CROSS JOIN LATERAL ${possibleOwners(Prisma.sql`i.id`)} a
      JOIN bank_orders o ON o.account_id = a.id AND o.id = i.id
      WHERE o.connection_id = ${connectionId}::uuid AND o.due_at IS NOT NULL
    ), picked AS MATERIALIZED (
      SELECT o.account_id, o.id FROM named n JOIN bank_orders o USING (account_id, id)
      WHERE o.state = 'placed' AND o.lease IS NULL AND o.due_at > now()
      FOR UPDATE OF o SKIP LOCKED
    ), moved AS (
      UPDATE bank_orders o SET due_at = now() FROM picked p
      WHERE o.account_id = p.account_id AND o.id = p.id
    )
    SELECT replace(n.id::text, '-', '') AS id FROM named n`
  return new Set(found.map(({ id }) => id))
}
