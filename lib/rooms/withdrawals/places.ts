// Over the line limit: all changes of a place depend on the same lock and the same conditions.

import { randomUUID } from 'node:crypto'
import { type Claim, claimedColumns, leaseMs, nowPlusMs } from '#lib/base/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import type { PixKeyType } from '#lib/base/pix/pix-key.ts'
import {
  bucketOf,
  drain,
  type FullTimes,
  giveBackToken,
  listOpenKeyTypes,
  takeToken,
} from '#lib/rooms/withdrawals/pace.ts'
import type { ServedConnection } from '#lib/services/gateway/choose.ts'
import type { Gateway } from '#lib/services/gateway/gateway.ts'

/** A payout that has not ended after this time no longer keeps others from being sent. */
const PLACE_MS = 30_000
const FIRST_ACCOUNT = '00000000-0000-0000-0000-000000000000'

/** A withdrawal `r` that was sent to its bank, or may have been. */
export const isPlaced = Prisma.sql`r.place_until IS NOT NULL`

interface Queue {
  lastServed: string
  isPaused: boolean
  buckets: FullTimes
  inFlight: number
  now: number
}

/** Withdrawals in flight, and the payout of a try. */
const liveCount = (connectionId: string) => Prisma.sql`((
  SELECT count(*)::int FROM withdrawals r WHERE r.connection_id = ${connectionId}::uuid
    AND r.due_at IS NOT NULL AND r.place_until > clock_timestamp()) + (
  SELECT count(*)::int FROM bank_tries y WHERE y.connection_id = ${connectionId}::uuid
    AND y.ended_at IS NULL AND y.place_until > clock_timestamp()))`
const isWaiting = (connectionId: string) => Prisma.sql`
  r.connection_id = ${connectionId}::uuid AND r.due_at <= now() AND r.place_until IS NULL`

/**
 * Claims due withdrawals that wait for a place at their bank, in the order of their ids within an
 * account, accounts in turn; one that is due later, or whose key's bucket is empty, is overtaken. A
 * place ends by itself, so a dead worker keeps none.
 */
export async function claimPayouts(served: ServedConnection, limit: number): Promise<Claim[]> {
  if (!(await mayStart(served))) return []
  return transaction(async tx => {
    const queue = await lockQueue(tx, served.id)
    const free = queue.isPaused ? 0 : Math.min(limit, served.payoutsInFlight - queue.inFlight)
    return claimAll(tx, served, queue, free)
  })
}

/** Without a lock, so that processes wait for each other only if something may be sent. */
async function mayStart({ id, payoutsInFlight }: ServedConnection): Promise<boolean> {
  const [row] = await db().$queryRaw<{ mayStart: boolean }[]>`
    SELECT EXISTS (SELECT FROM withdrawals r WHERE ${isWaiting(id)})
      AND ${liveCount(id)} < ${payoutsInFlight}::int
      AND NOT EXISTS (SELECT FROM payout_queues q
        WHERE q.connection_id = ${id}::uuid AND q.paused_until > now()) AS "mayStart"`
  return row?.mayStart ?? false
}

/** One claim at a time per connection. The places are counted by a statement after the lock. */
async function lockQueue(tx: Tx, connectionId: string): Promise<Queue> {
  await tx.$executeRaw`
    INSERT INTO payout_queues (connection_id) VALUES (${connectionId}::uuid)
    ON CONFLICT (connection_id) DO NOTHING`
  await tx.$executeRaw`
    SELECT FROM payout_queues WHERE connection_id = ${connectionId}::uuid FOR UPDATE`
  const [queue] = await tx.$queryRaw<Queue[]>`
    SELECT COALESCE(last_served, ${FIRST_ACCOUNT}::uuid) AS "lastServed", buckets,
      COALESCE(paused_until > clock_timestamp(), false) AS "isPaused",
      ${liveCount(connectionId)} AS "inFlight",
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
    FROM payout_queues WHERE connection_id = ${connectionId}::uuid`
  return queue as Queue
}

async function claimAll(
  tx: Tx,
  { id, gateway: { keyBuckets = [] } }: ServedConnection,
  { lastServed, buckets, now }: Queue,
  free: number,
): Promise<Claim[]> {
  const claims: Claim[] = []
  const lease = randomUUID()
  let [turn, fullTimes] = [lastServed, buckets]
  while (claims.length < free) {
    const keyTypes = listOpenKeyTypes(keyBuckets, fullTimes, now)
    const [claimed] = await claimNext(tx, id, turn, { lease, keyTypes })
    if (!claimed) break
    const { keyType, ...claim } = claimed
    claims.push(claim)
    turn = claim.accountId
    fullTimes = takeToken(keyBuckets, fullTimes, now, keyType)
  }
  if (claims.length > 0) {
    await tx.$executeRaw`
      UPDATE payout_queues SET last_served = ${turn}::uuid, buckets = ${JSON.stringify(fullTimes)}::jsonb
      WHERE connection_id = ${id}::uuid`
  }
  return claims
}

/** The account after `turn` that has a due withdrawal, else the first one. */
function claimNext(
  tx: Tx,
  connectionId: string,
  turn: string,
  { lease, keyTypes }: { lease: string; keyTypes: PixKeyType[] },
) {
  const isNext = Prisma.sql`${isWaiting(connectionId)} AND r.pix_key_type = ANY(${keyTypes})`
  const first = (condition: Prisma.Sql) => Prisma.sql`(
    SELECT r.account_id FROM withdrawals r WHERE ${isNext} ${condition}
    ORDER BY r.account_id LIMIT 1)`
  return tx.$queryRaw<(Claim & { keyType: PixKeyType })[]>`
    WITH picked AS MATERIALIZED (
      SELECT r.account_id, r.id FROM withdrawals r
      WHERE ${isNext} AND r.account_id = COALESCE(
        ${first(Prisma.sql`AND r.account_id > ${turn}::uuid`)}, ${first(Prisma.empty)})
      ORDER BY r.id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE withdrawals r SET due_at = ${nowPlusMs(leaseMs())}, lease = ${lease}::uuid,
      attempts = attempts + 1, place_until = clock_timestamp() + ${PLACE_MS} * interval '1 millisecond'
    FROM picked p WHERE r.account_id = p.account_id AND r.id = p.id
    RETURNING ${claimedColumns}, r.trace, r.pix_key_type AS "keyType"`
}

/**
 * Renews the lease and the place of a withdrawal that is about to be sent. Returns false if either
 * was lost. Waits for a claim in progress, which may be giving the place to another withdrawal.
 */
export async function holdPlace({ accountId, id, lease, connectionId }: Claim): Promise<boolean> {
  const held = await db().$executeRaw`
    WITH queue AS MATERIALIZED (
      SELECT connection_id FROM payout_queues WHERE connection_id = ${connectionId}::uuid FOR UPDATE)
    UPDATE withdrawals SET due_at = ${nowPlusMs(leaseMs())}, sent_at = COALESCE(sent_at, now()),
      place_until = clock_timestamp() + ${PLACE_MS} * interval '1 millisecond'
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid
      AND place_until > (SELECT clock_timestamp() FROM queue)`
  return held === 1
}

/** A payout that is no withdrawal. `hold` stores its place, unless it must not be sent. */
export interface OtherPayout {
  keyType: PixKeyType
  hold: (tx: Tx, placeMs: number) => Promise<boolean>
}

/**
 * Takes a place and a token for a payout that is about to be sent. Returns false if there is none now, or
 * if the payout must not be sent.
 */
export async function placeOther(
  { id, gateway: { keyBuckets = [] }, payoutsInFlight }: ServedConnection,
  { keyType, hold }: OtherPayout,
): Promise<boolean> {
  return transaction(async tx => {
    const { isPaused, inFlight, buckets, now } = await lockQueue(tx, id)
    const hasToken = listOpenKeyTypes(keyBuckets, buckets, now).includes(keyType)
    if (isPaused || inFlight >= payoutsInFlight || !hasToken) return false
    if (!(await hold(tx, PLACE_MS))) return false
    const fullTimes = JSON.stringify(takeToken(keyBuckets, buckets, now, keyType))
    await tx.$executeRaw`
      UPDATE payout_queues SET buckets = ${fullTimes}::jsonb WHERE connection_id = ${id}::uuid`
    return true
  })
}

/** Until then, a payout that the bank does not have may still arrive there, and counts as in flight. */
export async function isPlaceOver({ accountId, id }: Claim): Promise<boolean> {
  const rows = await db().$queryRaw<unknown[]>`
    SELECT FROM withdrawals WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND place_until <= clock_timestamp()`
  return rows.length > 0
}

/** Gives the place back after a call without effect, or before any: the withdrawal waits again. */
export async function releasePlace(claim: Claim, pauseMs: number, isAttempt = true): Promise<void> {
  const { accountId, id, lease } = claim
  await db().$executeRaw`
    UPDATE withdrawals SET due_at = ${nowPlusMs(pauseMs)}, lease = NULL, place_until = NULL,
      sent_at = CASE WHEN attempts > 1 THEN sent_at END,
      attempts = attempts - ${isAttempt ? 0 : 1}::int
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid`
}

/**
 * Gives back the place and the token of a withdrawal that must not be sent for now. Counts no attempt,
 * so that retries stay frequent afterwards.
 */
export async function holdBack(
  claim: Claim,
  { keyBuckets = [] }: Gateway,
  pauseMs: number,
): Promise<void> {
  await releasePlace(claim, pauseMs, false)
  if (keyBuckets.length === 0) return
  const giveBack: Change = ({ buckets }, keyType) => ({
    fullTimes: giveBackToken(keyBuckets, buckets, keyType),
  })
  await changeQueue(claim.connectionId, tx => readKeyType(tx, claim), giveBack)
}

/**
 * Lets a withdrawal that was sent be asked about again: after 1 to 5 s while it has its place, then
 * after a sixth of the time since it was sent, up to 10 min. Not before `pauseMs`.
 */
export async function askLater({ accountId, id, lease }: Claim, pauseMs: number): Promise<void> {
  const ageS = Prisma.sql`(extract(epoch FROM now() - place_until) + ${PLACE_MS / 1_000}::float8)`
  const pauseS = Prisma.sql`LEAST(600, GREATEST(1, LEAST(5, ${ageS}), ${ageS} / 6))`
  await db().$executeRaw`
    UPDATE withdrawals SET lease = NULL,
      due_at = now() + make_interval(secs => GREATEST(${pauseMs / 1_000}::float8, ${pauseS}))
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid AND lease = ${lease}::uuid`
}

/** Follows a limit of the bank: of the key's bucket if the bank has declared it, else of all payouts. */
export async function slowDown(claim: Claim, gateway: Gateway, pauseMs: number): Promise<void> {
  const { connectionId } = claim
  await changeQueue(connectionId, tx => readKeyType(tx, claim), slower(gateway, pauseMs))
}

export async function slowDownOther(
  { id, gateway }: ServedConnection,
  { keyType }: Pick<OtherPayout, 'keyType'>,
  pauseMs: number,
): Promise<void> {
  await changeQueue(id, async () => keyType, slower(gateway, pauseMs))
}

type Change = (queue: Queue, keyType: PixKeyType) => { fullTimes: FullTimes; pause?: Prisma.Sql }

function slower({ keyBuckets = [] }: Gateway, pauseMs: number): Change {
  return ({ buckets, now }, keyType) => {
    const bucket = bucketOf(keyBuckets, keyType)
    return bucket
      ? { fullTimes: drain(bucket, buckets, now, pauseMs) }
      : { fullTimes: buckets, pause: nowPlusMs(pauseMs) }
  }
}

async function readKeyType(tx: Tx, { accountId, id }: Claim): Promise<PixKeyType> {
  const { pixKeyType } = await tx.withdrawal.findUniqueOrThrow({
    where: { accountId_id: { accountId, id } },
    select: { pixKeyType: true },
  })
  return pixKeyType as PixKeyType
}

async function changeQueue(
  connectionId: string,
  findKeyType: (tx: Tx) => Promise<PixKeyType>,
  change: Change,
): Promise<void> {
  await transaction(async tx => {
    const queue = await lockQueue(tx, connectionId)
    const { fullTimes, pause } = change(queue, await findKeyType(tx))
    await tx.$executeRaw`
      UPDATE payout_queues SET buckets = ${JSON.stringify(fullTimes)}::jsonb,
        paused_until = GREATEST(paused_until, ${pause ?? Prisma.sql`NULL::timestamptz`})
      WHERE connection_id = ${connectionId}::uuid`
  })
}
