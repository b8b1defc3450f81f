import type { OrderState } from '#lib/banks/gateway.ts'
import { mayArrive } from '#lib/banks/record-call.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import type { EndOutcome } from '#lib/orders/states.ts'

/**
 * An order lets money leave through a bank, under an id that never changes: that of the withdrawal, refund or return
 * of an unmatched payment that it sends. A row of `bank_orders` is the job.
 *
 * held: a person decides first. waiting: not at the bank; to be sent when due. placed: sent, or about to be; the bank
 * is asked about it when due. done, refused: ended. A call that had no effect lets a placed order wait again.
 */
export type OrderKind = 'withdrawal' | 'refund' | 'return'
export type OrderOperation = 'payout' | 'refund'

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
export const notHeld = Prisma.sql`o.state <> 'held'`

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
