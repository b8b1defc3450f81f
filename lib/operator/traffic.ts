import { env } from '#lib/core/settings.ts'
import { Prisma } from '#lib/db/client.ts'
import { queryRows } from '#lib/db/sql.ts'
import { accountSubjects } from '#lib/operator/accounts.ts'
import type { Finding } from '#lib/operator/schema.ts'
import type { Subject } from '#lib/operator/states.ts'

/** Maximum rows read per check: more take longer and give the same result. */
export const ROWS_READ_MAX = 20_000
/** Minimum sample: fewer attempts say nothing about receivers in general. */
const ATTEMPTS_MIN = 10
const FAILING_NAMED_MAX = 5
/** Share of calls or attempts from which they count as failing. */
export const FAILING_SHARE = 0.5

/** Judges by first attempts (stored body, indexed by time): dead receivers are retried often. */
export async function examineReceivers(): Promise<Finding> {
  const [figures] = await queryRows<Record<'tried' | 'failed' | 'failed5' | 'span_s', number>>(
    Prisma.sql`
      SELECT json_build_object('tried', count(*), 'failed', count(t.problem),
        'failed5', count(t.problem) FILTER (WHERE t.created_at > now() - interval '5 minutes'),
        'span_s', CASE WHEN count(*) < ${ROWS_READ_MAX}::int THEN 3600
          ELSE extract(epoch FROM now() - min(t.created_at))::int END)::text AS json
      FROM (
        SELECT created_at, problem FROM delivery_attempts
        WHERE created_at > now() - interval '1 hour' AND request_body IS NOT NULL
        ORDER BY created_at DESC LIMIT ${ROWS_READ_MAX}) t`,
  )
  if (!figures || figures.tried === 0) return { level: 'ok', state: 'receivers_quiet', figures: {} }
  const isFailing = figures.tried >= ATTEMPTS_MIN && figures.failed / figures.tried >= FAILING_SHARE
  if (!isFailing) return { level: 'ok', state: 'receivers_answer', figures }
  return { level: 'warning', state: 'receivers_fail', figures, subjects: await listFailing() }
}

/** Lists the accounts with most failed attempts in the last hour. */
async function listFailing(): Promise<Subject[]> {
  const accounts = await queryRows<{ id: string; name: string }>(Prisma.sql`
    SELECT json_build_object('id', a.id, 'name', a.name)::text AS json
    FROM (SELECT account_id FROM delivery_attempts
      WHERE created_at > now() - interval '1 hour' AND request_body IS NOT NULL AND problem IS NOT NULL
      ORDER BY created_at DESC LIMIT ${ROWS_READ_MAX}) t JOIN accounts a ON a.id = t.account_id
    GROUP BY a.id ORDER BY count(*) DESC LIMIT ${FAILING_NAMED_MAX}`)
  return accountSubjects(accounts)
}

/** Checks that mails are sent. Sent mails leave no row, so the table is small. */
export async function examineMailServer(): Promise<Finding> {
  const { SMTP_URL, TROCO_ENV } = env()
  const [figures] = await queryRows<Record<'failed' | 'failed60' | 'failed5', number>>(Prisma.sql`
    SELECT json_build_object('failed', count(*),
      'failed60', count(*) FILTER (WHERE failed_at > now() - interval '1 hour'),
      'failed5', count(*) FILTER (WHERE failed_at > now() - interval '5 minutes'))::text AS json
    FROM (SELECT failed_at FROM mails WHERE failed_at IS NOT NULL LIMIT ${ROWS_READ_MAX}) t`)
  if (!SMTP_URL && TROCO_ENV === 'production') {
    return { level: 'warning', state: 'no_mail_server', figures: { ...figures } }
  }
  if (figures && figures.failed > 0) return { level: 'warning', state: 'mails_given_up', figures }
  return { level: 'ok', state: SMTP_URL ? 'mail_set' : 'mail_to_log', figures: {} }
}
