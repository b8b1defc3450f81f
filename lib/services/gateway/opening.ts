import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { utcText } from '#lib/base/db/columns.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { newId } from '#lib/base/ids.ts'

/** Time in which a second admin may confirm what the first proposed. */
const PROPOSAL_HOURS = 24

const isClosed = (connectionId: string) =>
  Prisma.sql`c.connection_id = ${connectionId}::uuid AND c.opened_at IS NULL`
const isStanding = Prisma.sql`
  c.proposed_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'`

/** Why money out of a connection is closed, and how far its bank was read. */
export interface Closure {
  restoredTo: string
  receiptsUntil: string | null
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
      'receiptsUntil', ${utcText('c.receipts_until')}, 'refundsUntil', ${utcText('c.refunds_until')},
      'payoutsUntil', ${utcText('c.payouts_until')}, 'unsettled', c.unsettled,
      'isUnlisted', COALESCE(left(c.flaw, 3) = 'no_', false),
      'held', (SELECT count(*) FROM inbox_items i WHERE i.connection_id = c.connection_id
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
      proposed_at = now(), reason = ${reason} WHERE ${isClosed(connectionId)}`
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
    WHERE ${isClosed(connectionId)} AND ${isStanding} AND c.proposal_id = ${proposalId}::uuid FOR UPDATE`
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
      reason = ${reason} WHERE ${isClosed(connectionId)}`
  return opened > 0
}
