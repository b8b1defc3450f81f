import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'

export interface EventRange {
  /** Oldest stored sequence number, or `last` + 1. */
  oldest: number
  /** Last assigned sequence number, or 0. */
  last: number
  /** Within an epoch, sequence numbers have no gaps and are given once. */
  epoch: string
  /** The restore that the reader has not heard of: the last number that it kept, and where to go on. */
  restore: { epoch: string; kept: number; next: number } | null
}

/** The epoch of a feed `s` that no restore has changed. */
const firstEpoch = Prisma.sql`left(md5(k.account_id || k.mode), 16)`

/** Reads the range of a feed for a reader at `after`, who knows the epoch `known` or none. */
export async function readEventRange(
  accountId: string,
  mode: Mode,
  after: number,
  known: string | undefined,
): Promise<EventRange> {
  const [range] = await db().$queryRaw<
    { oldest: bigint | null; last: bigint | null; epoch: string; restore: EventRange['restore'] }[]
  >`
    SELECT s.last, coalesce(s.epoch, ${firstEpoch}) AS epoch, (
      SELECT e.sequence FROM events e
      WHERE e.account_id = s.account_id AND e.mode = s.mode ORDER BY e.sequence LIMIT 1) AS oldest, (
      SELECT json_build_object('epoch', f.epoch, 'kept', f.kept, 'next', f.next) FROM feed_epochs f
      WHERE f.account_id = s.account_id AND f.mode = s.mode
        AND (f.epoch = ${known ?? null} OR (f.kept <= ${after}::bigint AND f.next > ${after}::bigint))
      ORDER BY f.epoch = ${known ?? null} DESC, f.next LIMIT 1) AS restore
    FROM (SELECT ${accountId}::uuid AS account_id, ${mode} AS mode) k
    LEFT JOIN event_sequences s USING (account_id, mode)`
  if (!range) throw new Invariant('the range of a feed is one row')
  const last = Number(range.last ?? 0)
  const oldest = Number(range.oldest ?? last + 1)
  return { oldest, last, epoch: range.epoch, restore: range.restore }
}

/**
 * Returns why a reader cannot go on at `after`; null if it can. What a restore kept, it has read under the same
 * numbers, so it goes on there; what came after that is gone, and so are the numbers up to the next epoch.
 */
export function judgePosition(
  { oldest, last, epoch, restore }: EventRange,
  after: number,
  known: string | undefined,
): TrocoError | null {
  const feed = { epoch, lastSequence: last }
  const isOther = known !== undefined && known !== epoch
  if (restore && (isOther ? restore.epoch === known : after > restore.kept)) {
    const { kept, next } = restore
    const continueAfter = after <= kept ? after : next
    return refuse('feed_restored', { ...feed, continueAfter, lastKept: kept })
  }
  if (isOther) return refuse('feed_epoch_changed', { ...feed, continueAfter: oldest - 1 })
  if (after > last) return refuse('after_beyond_feed', { ...feed, continueAfter: last })
  // The number after the last that was kept is the first of the next epoch.
  const position = restore?.kept === after ? restore.next : after
  return position + 1 < oldest && position < last
    ? refuse('events_gone', { ...feed, continueAfter: oldest - 1 })
    : null
}

/**
 * Gives every event feed another epoch: prisma/functions/troco_renew_feeds.sql. The feeds of a restored database
 * would give out numbers again that readers have seen. Returns the number of feeds. Of one account only, if it is
 * given.
 */
export async function renewFeedEpochs(accountId?: string, tx: Tx = db()): Promise<number> {
  const [row] = await tx.$queryRaw<{ renewed: number }[]>`
    SELECT troco_renew_feeds(${accountId ?? null}::uuid) AS renewed`
  return row?.renewed ?? 0
}
