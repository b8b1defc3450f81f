import { type Actor, recordAudit } from '#lib/audit/record.ts'
import type { GatewayNotification, GatewayResult } from '#lib/banks/gateway.ts'
import {
  dropScheme,
  hostOfAddress,
  noticeAddressPrefix,
  readNoticeAddress,
} from '#lib/banks/notice-address.ts'
import { hideAddress, redactText, withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import { wake } from '#lib/db/wake.ts'

/** Pauses after the first, second and third question; with the fourth one, a notice ends. */
const PAUSES_S = [2, 8, 60]
export const QUESTIONS_MAX = PAUSES_S.length + 1
/** Open notices of a connection. Beyond, payments are found by reading lists, and orders are asked about later. */
const NOTICES_MAX = 10_000
const BATCH_MAX = 500
/** Lists are read at most once in this time: notices about them come due together. */
const LISTS_EVERY_S = 2
const ID = /^[A-Za-z0-9]{1,64}$/

export interface BankNotice extends GatewayNotification {
  connectionId: string
  attempts: number
}

interface Delivered {
  key: string
  connectionId: string
  notices: GatewayNotification[]
}

/**
 * Stores what a bank's notice is about, and wakes the worker. What is stored already stays as it is, so
 * a thousand notices about one payment lead to one question. Ids that no bank could mean are left out.
 */
export async function storeNotices(
  connectionId: string,
  notices: GatewayNotification[],
): Promise<void> {
  const valid = notices.filter(({ id }) => ID.test(id))
  if (valid.length > 0) await store({ key: newId(), connectionId, notices: valid })
}

const store = createBatcher({
  run: storeBatch,
  queueOf: ({ connectionId }: Delivered) => connectionId,
  keyOf: ({ key }) => key,
  batchMax: 200,
})

async function storeBatch(deliveries: Delivered[]): Promise<null[]> {
  const { connectionId = '' } = deliveries[0] ?? {}
  const all = deliveries.flatMap(({ notices }) => notices)
  const unique = [...new Map(all.map(notice => [`${notice.kind} ${notice.id}`, notice])).values()]
  const dueAt = firstDueAt(Prisma.sql`t.kind`)
  await retryOnConflict(
    () => db().$executeRaw`
      INSERT INTO bank_notices AS n (connection_id, kind, id, due_at)
      SELECT ${connectionId}::uuid, t.kind, t.id, ${dueAt}
      FROM unnest(${unique.map(({ kind }) => kind)}::text[], ${unique.map(({ id }) => id)}::text[])
        AS t (kind, id)
      ORDER BY t.kind, t.id
      LIMIT (SELECT GREATEST(0, ${NOTICES_MAX}::int - count(*)) FROM (SELECT FROM bank_notices o
        WHERE o.connection_id = ${connectionId}::uuid LIMIT ${NOTICES_MAX}) o)
      ON CONFLICT (connection_id, kind, id) DO UPDATE SET due_at = ${repeatedDueAt}
      WHERE n.due_at > ${repeatedDueAt}`,
  )
  wake('notices')
  return deliveries.map(() => null)
}

/** A payment is looked up in a list only if the question about its charge has not booked it by then. */
function firstDueAt(kind: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`CASE ${kind} WHEN 'payment' THEN ${onGrid(Prisma.sql`now() + interval '2 seconds'`)}
    ELSE now() END`
}

function onGrid(time: Prisma.Sql): Prisma.Sql {
  const every = Prisma.sql`${LISTS_EVERY_S}::float8`
  return Prisma.sql`to_timestamp(ceil(extract(epoch FROM ${time}) / ${every}) * ${every})`
}

/** A repeated notice may be the true one after an early one, so it does not wait for the longer pauses. */
const repeatedDueAt = Prisma.sql`GREATEST(EXCLUDED.due_at, n.asked_at + interval '2 seconds')`

/** Claims due notices. A row that a dead worker claimed is due again after the pause. */
export function claimNotices(): Promise<BankNotice[]> {
  const nextAt = Prisma.sql`now() + make_interval(secs => (${PAUSES_S}::int[])[LEAST(n.attempts + 1,
    ${PAUSES_S.length}::int)])`
  return retryOnConflict(
    () => db().$queryRaw<BankNotice[]>`
      UPDATE bank_notices n SET asked_at = now(), attempts = n.attempts + 1,
        due_at = CASE n.kind WHEN 'payment' THEN ${onGrid(nextAt)} ELSE ${nextAt} END
      FROM (SELECT connection_id, kind, id FROM bank_notices WHERE due_at <= now()
        ORDER BY due_at LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED) d
      WHERE n.connection_id = d.connection_id AND n.kind = d.kind AND n.id = d.id
      RETURNING n.connection_id AS "connectionId", n.kind, n.id, n.attempts`,
  )
}

/** Deletes notices about which nothing is left to ask. */
export async function endNotices(ended: BankNotice[]): Promise<void> {
  if (ended.length === 0) return
  const columns = [
    ended.map(({ connectionId }) => connectionId),
    ended.map(({ kind }) => kind),
    ended.map(({ id }) => id),
  ] as const
  await retryOnConflict(
    () => db().$executeRaw`
      DELETE FROM bank_notices n
      USING unnest(${columns[0]}::uuid[], ${columns[1]}::text[], ${columns[2]}::text[])
        AS e (connection_id, kind, id)
      WHERE n.connection_id = e.connection_id AND n.kind = e.kind AND n.id = e.id`,
  )
}

/** registered: from now on, the bank sends notices to this connection's address. foreign: elsewhere, as before. */
export interface KeyNotices {
  key: string
  state: 'registered' | 'foreign'
  /** Host of the address that was found; null if there was none. */
  host: string | null
}

interface Options {
  /** Replaces addresses that are not of this connection, too. */
  replacesForeign?: boolean
}

/**
 * Gives the bank the address for notices of each key that has none or one of this connection: also the
 * same one, because the bank verifies it anew by the rule for certificates of now. Null: the bank has no
 * notices. Called twice, it does the same.
 */
export async function registerNoticeAddress(
  connectionId: string,
  actor: Actor,
  { replacesForeign = false }: Options = {},
): Promise<GatewayResult<KeyNotices[]> | null> {
  if (!env().PUBLIC_URL.startsWith('https:'))
    throw refuse(
      'not_supported',
      'Set PUBLIC_URL to an https address: banks send notices to no other one',
    )
  const gateway = await gatewayOfConnection(connectionId)
  const { listWebhooks, registerWebhook } = withConnectionJournal({ id: connectionId, gateway })
  if (!listWebhooks || !registerWebhook) return null
  const listed = await listWebhooks()
  if (listed.outcome !== 'ok') return listed
  const address = await readNoticeAddress(connectionId)
  const prefix = dropScheme(noticeAddressPrefix(connectionId))
  const keys = listed.value.map(({ key, address: found }) => {
    const isOurs = found !== null && dropScheme(found).startsWith(prefix)
    const host = found === null ? null : hostOfAddress(found)
    return { key, host, isOurs, isForeign: found !== null && !isOurs && !replacesForeign }
  })
  const own = keys.filter(({ isForeign }) => !isForeign).map(({ key }) => key)
  if (own.length > 0) {
    const { noticeCertificate: isCertificateRequired } = await db().connection.findUniqueOrThrow({
      where: { id: connectionId },
      select: { noticeCertificate: true },
    })
    const registered = await registerWebhook(address, { keys: own, isCertificateRequired })
    if (registered.outcome !== 'ok') return redact(registered, address)
    const replaced = keys.flatMap(({ host, isOurs }) => (host === null || isOurs ? [] : [host]))
    await recordAudit(db(), {
      actor,
      action: 'connection.notices_registered',
      target: connectionId,
      after: { keys: own.length, ...(replaced.length > 0 && { replaced }) },
    })
  }
  return {
    outcome: 'ok',
    value: keys.map(({ key, host, isForeign }) => ({
      key,
      host,
      state: isForeign ? 'foreign' : 'registered',
    })),
  }
}

/** The bank's text may repeat the address. */
function redact(
  result: Exclude<GatewayResult<null>, { outcome: 'ok' }>,
  address: string,
): Exclude<GatewayResult<null>, { outcome: 'ok' }> {
  const hidden = hideAddress(address)
  if (result.outcome !== 'rejected') return { ...result, reason: redactText(result.reason, hidden) }
  const { bankText } = result
  return { ...result, bankText: bankText === null ? null : redactText(bankText, hidden) }
}
