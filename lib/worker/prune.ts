import { db, transaction } from '#lib/db/client.ts'

/** Rows per statement: small, so that other statements do not wait long for the locks. */
const BATCH_MAX = 500
const BODY_RETENTION = '60 days'
const RECORD_RETENTION = '90 days'

export function pruneIdempotencyKeys(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM idempotency_keys WHERE (account_id, mode, path, key) IN (
      SELECT account_id, mode, path, key FROM idempotency_keys
      WHERE expires_at <= now() LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

export function pruneSignInAttempts(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM sign_in_attempts WHERE (scope, key) IN (
      SELECT scope, key FROM sign_in_attempts
      WHERE ends_at <= now() LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

export function pruneChallenges(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM challenges WHERE hash IN (
      SELECT hash FROM challenges
      WHERE expires_at <= now() LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/** Deletes expired sessions; the sign-in remains in the audit log. */
export function pruneSessions(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM user_sessions WHERE id IN (
      SELECT id FROM user_sessions
      WHERE expires_at <= now() LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/** Deletes the bytes of past days, which limit nothing; a week of them shows who stores much. */
export function pruneTestUsage(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM test_usage WHERE (account_id, day) IN (
      SELECT account_id, day FROM test_usage
      WHERE day < now() - interval '8 days' LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/** Deletes counts of requests that the overview of staff no longer shows. */
export function pruneRequestCounts(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM request_counts WHERE hour IN (
      SELECT hour FROM request_counts
      WHERE hour < now() - interval '32 days' LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/** Makes the partitions of these days and drops old ones: prisma/functions/troco_rotate_request_log.sql. */
export async function rotateRequestLog(): Promise<number> {
  const [row] = await db().$queryRaw<{ dropped: number }[]>`
    SELECT troco_rotate_request_log() AS dropped`
  return row?.dropped ?? 0
}

/** Deletes mails a week after they failed, so that the operator has time to see them. */
export function pruneFailedMails(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM mails WHERE id IN (
      SELECT id FROM mails
      WHERE failed_at < now() - interval '7 days' LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/** Deletes the bodies of old attempts; the attempts and their outcome are stored longer. */
export function pruneAttemptBodies(): Promise<number> {
  return db().$executeRaw`
    UPDATE delivery_attempts SET request_body = NULL, response_body = NULL
    WHERE (account_id, delivery_id, number) IN (
      SELECT account_id, delivery_id, number FROM delivery_attempts
      WHERE created_at < now() - ${BODY_RETENTION}::interval
        AND (request_body IS NOT NULL OR response_body IS NOT NULL)
      LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}

/**
 * Deletes in order per account and mode, so that the sequence numbers have no gap. Of an account without old
 * events it reads one: the cost must not grow with young events.
 */
export function pruneEvents(): Promise<number> {
  return transaction(async tx => {
    const old = await tx.$queryRaw<{ account: string; id: string }[]>`
      SELECT e.account_id AS account, e.id FROM event_sequences s CROSS JOIN LATERAL (
        SELECT o.created_at FROM events o WHERE o.account_id = s.account_id AND o.mode = s.mode
        ORDER BY o.sequence LIMIT 1) oldest
      CROSS JOIN LATERAL (
        SELECT * FROM events n WHERE n.account_id = s.account_id AND n.mode = s.mode
          AND oldest.created_at < now() - ${RECORD_RETENTION}::interval
        ORDER BY n.sequence LIMIT ${BATCH_MAX}) e
      WHERE e.created_at < now() - ${RECORD_RETENTION}::interval LIMIT ${BATCH_MAX}`
    if (old.length === 0) return 0
    const accounts = old.map(({ account }) => account)
    const ids = old.map(({ id }) => id)
    await tx.$executeRaw`
      DELETE FROM delivery_attempts a USING deliveries d
      JOIN unnest(${accounts}::uuid[], ${ids}::uuid[]) AS o (account_id, id)
        ON o.account_id = d.account_id AND o.id = d.event_id
      WHERE a.account_id = d.account_id AND a.delivery_id = d.id`
    // A merchant's first step that is done stays done: prisma/functions/troco_note_delivered.sql.
    await tx.$executeRaw`
      WITH pruned AS (
        DELETE FROM deliveries d
        USING unnest(${accounts}::uuid[], ${ids}::uuid[]) AS o (account_id, id)
        WHERE o.account_id = d.account_id AND o.id = d.event_id
        RETURNING d.account_id, d.mode, d.status
      )
      SELECT troco_note_delivered(array_agg(account_id), array_agg(mode))
      FROM pruned WHERE status = 'delivered'`
    // prisma/functions/troco_prune_events.sql, which refuses events younger than RECORD_RETENTION.
    const [row] = await tx.$queryRaw<{ pruned: number }[]>`
      SELECT troco_prune_events(${accounts}::uuid[], ${ids}::uuid[]) AS pruned`
    return row?.pruned ?? 0
  })
}

/** Keeps the calls of an open order: they prove that its bank has taken it. */
export function pruneGatewayCalls(): Promise<number> {
  return db().$executeRaw`
    DELETE FROM gateway_calls WHERE id IN (
      SELECT id FROM gateway_calls g
      WHERE created_at < now() - ${RECORD_RETENTION}::interval
        AND NOT EXISTS (SELECT FROM bank_orders o
          WHERE o.account_id = g.account_id AND o.id = g.subject_id AND o.due_at IS NOT NULL)
      LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)`
}
