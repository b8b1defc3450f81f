import { recordAudit } from '#lib/audit/record.ts'
import { idUpperBoundAt, newId } from '#lib/core/ids.ts'
import { claim, leaseMs, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { PROPOSAL_HOURS } from '#lib/people/approvers.ts'

/** What is read of a bank, in this order: payments first, so that accounts can cover what was sent. */
export const LISTS = ['payments', 'refunds', 'payouts'] as const
export type ListName = (typeof LISTS)[number]

/** Banks list late, and their clocks differ. */
const BEFORE_RESTORE = '10 minutes'
/** What the stopped processes sent last may reach a bank until then: it is read only afterwards. */
const ARRIVAL_MAX = '10 minutes'

const isClosed = Prisma.sql`c.opened_at IS NULL`

/** SQL: whether nothing may be sent through a connection. */
export const isMoneyOutClosedFor = (connectionId: Prisma.Sql) => Prisma.sql`
  EXISTS (SELECT FROM restore_closures c WHERE c.connection_id = ${connectionId} AND ${isClosed})`

/** Whether nothing may be sent through the connection. */
export async function isMoneyOutClosed(connectionId: string): Promise<boolean> {
  const [row] = await db().$queryRaw<{ isClosed: boolean }[]>`
    SELECT ${isMoneyOutClosedFor(Prisma.sql`${connectionId}::uuid`)} AS "isClosed"`
  return row?.isClosed ?? false
}

/** Returns the outcome of a call that would send money while nothing may be sent; null: it may be made. */
export async function refuseMoneyOut(operation: string, connectionId: string | undefined) {
  const isSending = operation === 'sendPayout' || operation === 'refundCharge'
  const isRefused = isSending && connectionId !== undefined
  return isRefused && (await isMoneyOutClosed(connectionId)) ? MONEY_OUT_CLOSED : null
}

const MONEY_OUT_CLOSED = {
  outcome: 'retryable',
  reason: 'money out is closed since a restore',
  retryAfterMs: 60_000,
} as const

/** Whether the order is older than the latest restore of the connection, which may have lost calls about it. */
export async function isFromBeforeRestore(order: {
  id: string
  connectionId: string
}): Promise<boolean> {
  const [restore] = await db().$queryRaw<{ begunAt: Date | null }[]>`
    SELECT max(r.begun_at) AS "begunAt" FROM restore_closures c JOIN restores r ON r.id = c.restore_id
    WHERE c.connection_id = ${order.connectionId}::uuid`
  return !!restore?.begunAt && order.id < idUpperBoundAt(restore.begunAt.getTime())
}

export interface BegunRestore {
  id: string
  begunAt: Date
  /** False if it was begun before. */
  isNew: boolean
}

/** Stores that the database was restored; of several calls for one time, the first does. */
export async function insertRestore(tx: Tx, restoredTo: Date): Promise<BegunRestore> {
  const [made] = await tx.$queryRaw<BegunRestore[]>`
    INSERT INTO restores (id, restored_to) VALUES (${newId()}::uuid, ${restoredTo}::timestamptz)
    ON CONFLICT (restored_to) DO NOTHING
    RETURNING id, begun_at AS "begunAt", true AS "isNew"`
  if (made) return made
  const found = await tx.restore.findUniqueOrThrow({ where: { restoredTo } })
  return { ...found, isNew: false }
}

/**
 * Closes money out at each bank of production. Its lists are read from ten minutes before the restore point,
 * or before the last sign of a worker, if that is earlier: then the point was named too late. Returns how many.
 */
export function closeMoneyOut(tx: Tx, restoreId: string): Promise<number> {
  return tx.$executeRaw`
    INSERT INTO restore_closures (connection_id, restore_id, since, due_at)
    SELECT n.id, r.id, LEAST(r.restored_to, (SELECT max(beat_at) FROM worker_heartbeats))
      - ${BEFORE_RESTORE}::interval, r.begun_at + ${ARRIVAL_MAX}::interval
    FROM connections n, restores r
    WHERE r.id = ${restoreId}::uuid AND n.kind <> 'simulator' AND n.environment = 'production'`
}

/** A claimed reading of a bank after a restore. */
export interface ClosureReading {
  connectionId: string
  restoreId: string
  since: Date
  list: ListName
  /** The bank's cursor; null: the list begins. */
  position: string | null
  /** Fencing token: an update of the row must match it. */
  lease: string
}

/** Readings claimed at once: more than banks serve an installation. */
const BATCH_MAX = 250

/** Claims due readings; another process cannot claim them before the lease ends. */
export function claimClosures(connectionIds: string[]): Promise<ClosureReading[]> {
  return claim<ClosureReading>('restore_closures', BATCH_MAX, {
    condition: Prisma.sql`r.connection_id = ANY (${connectionIds}::uuid[]) AND r.opened_at IS NULL`,
    set: Prisma.sql`until = COALESCE(r.until, now()),
      unsettled = CASE WHEN r.list = 'refunds' AND r.position IS NULL THEN 0 ELSE r.unsettled END`,
    returning: Prisma.sql`r.connection_id AS "connectionId", r.restore_id AS "restoreId", r.since, r.list,
      r.position, r.lease`,
  })
}

const isOwn = ({ connectionId, restoreId, lease }: ClosureReading) => Prisma.sql`
  connection_id = ${connectionId}::uuid AND restore_id = ${restoreId}::uuid
  AND lease = ${lease}::uuid AND opened_at IS NULL`

/** Stores the position after a page and renews the lease. Returns false if it was lost, or people opened. */
export async function keepClosurePosition(
  reading: ClosureReading,
  position: string,
  unsettled: number,
): Promise<boolean> {
  const kept = await db().$executeRaw`
    UPDATE restore_closures SET position = ${position}, unsettled = unsettled + ${unsettled}::int,
      flaw = NULL, due_at = ${nowPlusMs(leaseMs())} WHERE ${isOwn(reading)}`
  return kept === 1
}

/** Gives the reading back. `flaw`: why the page was not read; without a position, the list begins anew. */
export async function postponeClosure(
  reading: ClosureReading,
  { pauseMs, position, flaw }: { pauseMs: number; position: string | null; flaw: string | null },
): Promise<void> {
  await db().$executeRaw`
    UPDATE restore_closures SET lease = NULL, due_at = ${nowPlusMs(pauseMs)}, flaw = ${flaw},
      position = ${position}, until = CASE WHEN ${position}::text IS NULL THEN NULL ELSE until END
    WHERE ${isOwn(reading)}`
}

/** Ends a list that is not the last. Returns the reading of the next one; null if the lease was lost. */
export async function endClosureList(
  reading: ClosureReading,
  unsettled: number,
): Promise<ClosureReading | null> {
  const next = LISTS[LISTS.indexOf(reading.list) + 1] as ListName
  const ended = await db().$executeRaw`
    UPDATE restore_closures SET list = ${next}, position = NULL, flaw = NULL, until = now(),
      ${Prisma.raw(`${reading.list}_until`)} = until, due_at = ${nowPlusMs(leaseMs())},
      unsettled = unsettled + ${unsettled}::int
    WHERE ${isOwn(reading)}`
  return ended === 1 ? { ...reading, list: next, position: null } : null
}

/**
 * Ends the last list. Opens the connection if the books have all that its bank has sent; else what was sent is
 * read again after `pauseMs`. Returns whether it is open.
 */
export async function endClosure(
  reading: ClosureReading,
  unsettled: number,
  pauseMs: number,
): Promise<boolean> {
  const { connectionId } = reading
  const isOpened = await transaction(async tx => {
    const [row] = await tx.$queryRaw<{ isOpened: boolean }[]>`
      UPDATE restore_closures c SET lease = NULL, position = NULL, flaw = NULL, until = NULL, payouts_until = until,
        unsettled = c.unsettled + ${unsettled}::int,
        list = CASE WHEN k.may_open THEN NULL ELSE 'refunds' END,
        due_at = CASE WHEN NOT k.may_open THEN ${nowPlusMs(pauseMs)} END,
        opened_at = CASE WHEN k.may_open THEN now() END,
        opened_by = CASE WHEN k.may_open THEN 'readings' END
      FROM (SELECT o.connection_id, o.restore_id, o.unsettled + ${unsettled}::int = 0 AND NOT EXISTS (
          SELECT FROM differences i WHERE i.connection_id = o.connection_id AND i.resolved_at IS NULL
            AND i.kind IN ('payout_unbooked', 'refund_unbooked')) AS may_open
        FROM restore_closures o WHERE ${isOwn(reading)} FOR UPDATE) k
      WHERE c.connection_id = k.connection_id AND c.restore_id = k.restore_id
      RETURNING c.opened_at IS NOT NULL AS "isOpened"`
    if (!row?.isOpened) return false
    const entry = {
      action: 'connection.money_out_opened',
      target: connectionId,
      after: { by: 'readings' },
    }
    await recordAudit(tx, { actor: { type: 'system' }, ...entry })
    return true
  })
  if (isOpened) wakeSenders()
  return isOpened
}

/** What waited can be sent. */
export function wakeSenders(): void {
  wake('orders')
}

const isClosedAt = (connectionId: string) =>
  Prisma.sql`c.connection_id = ${connectionId}::uuid AND ${isClosed}`
const isStanding = Prisma.sql`
  c.proposed_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'`

/** Why money out of a connection is closed, and how far its bank was read. */
export interface Closure {
  restoredTo: string
  paymentsUntil: string | null
  refundsUntil: string | null
  payoutsUntil: string | null
  /** Orders at the bank that have not ended and that the books do not have. */
  unsettled: number
  /** Open items of what could be charged to no account. */
  held: number
  /** Whether the bank has no list of what it has sent. */
  isUnlisted: boolean
  /** What an admin has proposed, if it stands. */
  proposal: { id: string; by: string; reason: string } | null
}

/** Reads the closures of all connections, or of one, by their ids; the latest restore of each. */
export async function readClosures(connectionId?: string): Promise<Map<string, Closure>> {
  const ofOne = connectionId
    ? Prisma.sql`AND c.connection_id = ${connectionId}::uuid`
    : Prisma.empty
  const rows = await queryRows<Closure & { id: string }>(Prisma.sql`
    SELECT json_build_object('id', c.connection_id, 'restoredTo', ${utcText('r.restored_to')},
      'paymentsUntil', ${utcText('c.payments_until')}, 'refundsUntil', ${utcText('c.refunds_until')},
      'payoutsUntil', ${utcText('c.payouts_until')}, 'unsettled', c.unsettled,
      'isUnlisted', COALESCE(left(c.flaw, 3) = 'no_', false),
      'held', (SELECT count(*) FROM differences i WHERE i.connection_id = c.connection_id
        AND i.resolved_at IS NULL AND i.kind IN ('payout_unbooked', 'refund_unbooked')),
      'proposal', CASE WHEN ${isStanding} THEN json_build_object('id', c.proposal_id,
        'by', c.proposed_by, 'reason', c.reason) END)::text AS json
    FROM restore_closures c JOIN restores r ON r.id = c.restore_id
    WHERE c.opened_at IS NULL ${ofOne} ORDER BY r.begun_at`)
  return new Map(rows.map(({ id, ...closure }) => [id, closure]))
}

/** Stores a proposal to open; it replaces an earlier one. Returns false if money out is not closed. */
export async function insertProposal(
  tx: Tx,
  connectionId: string,
  { by, reason }: { by: string; reason: string },
): Promise<boolean> {
  const changed = await tx.$executeRaw`
    UPDATE restore_closures c SET proposal_id = ${newId()}::uuid, proposed_by = ${by}::uuid,
      proposed_at = now(), reason = ${reason} WHERE ${isClosedAt(connectionId)}`
  return changed > 0
}

/** Locks a proposal that stands; null if there is none of this id. */
export async function lockProposal(
  tx: Tx,
  connectionId: string,
  proposalId: string,
): Promise<{ by: string } | null> {
  const [proposal] = await tx.$queryRaw<{ by: string }[]>`
    SELECT c.proposed_by AS by FROM restore_closures c
    WHERE ${isClosedAt(connectionId)} AND ${isStanding} AND c.proposal_id = ${proposalId}::uuid FOR UPDATE`
  return proposal ?? null
}

/** Opens money out. A reading in progress ends. Returns false if it is open. */
export async function openClosures(
  tx: Tx,
  connectionId: string,
  { confirmedBy, reason }: { confirmedBy: string | null; reason: string },
): Promise<boolean> {
  const opened = await tx.$executeRaw`
    UPDATE restore_closures c SET opened_at = now(), due_at = NULL, lease = NULL,
      opened_by = ${confirmedBy ? 'admins' : 'command_line'}, confirmed_by = ${confirmedBy}::uuid,
      reason = ${reason} WHERE ${isClosedAt(connectionId)}`
  return opened > 0
}
