import { db } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { loseDispute, winDispute } from '#lib/rooms/charges/disputes/close.ts'
import { openDispute } from '#lib/rooms/charges/disputes/open.ts'
import { listServed, type ServedConnection } from '#lib/services/gateway/choose.ts'
import { withConnectionJournal } from '#lib/services/gateway/connection-calls.ts'
import type { ReportedDispute } from '#lib/services/gateway/lists.ts'

/** Time before now, or before the oldest open dispute was stored, of which disputes are listed. */
const PERIOD_MS = 30 * 86_400_000

const VERBS = { open: openDispute, won: winDispute, lost: loseDispute }

/**
 * Opens and ends disputes as banks list them. After a crash at any point, or if two processes read the
 * same list, each dispute is booked once. A list that cannot be read is read by the next run.
 */
export async function readDisputeLists(now = new Date()): Promise<void> {
  const served = (await listServed()).filter(({ gateway }) => gateway.listDisputes)
  const readings = served.map(connection =>
    // A failure must not stop the lists of other banks.
    readList(connection, now).catch(error =>
      log().error({ err: error, connectionId: connection.id }, 'reading disputes failed'),
    ),
  )
  await Promise.all(readings)
}

async function readList(connection: ServedConnection, now: Date): Promise<void> {
  const { listDisputes } = withConnectionJournal(connection)
  const since = await findBeginning(connection.id, now)
  for (let cursor: string | null = null; listDisputes; ) {
    const page: Awaited<ReturnType<typeof listDisputes>> = await listDisputes(since, cursor)
    if (page.outcome !== 'ok') return
    await bookDisputes(connection.id, page.value.items)
    cursor = page.value.nextCursor
    if (cursor === null) return
  }
}

/** A dispute is listed by its beginning, and must be found again when it ends. */
async function findBeginning(connectionId: string, now: Date): Promise<Date> {
  const { _min } = await db().dispute.aggregate({
    where: { connectionId, status: 'open' },
    _min: { createdAt: true },
  })
  return new Date((_min.createdAt ?? now).getTime() - PERIOD_MS)
}

async function bookDisputes(connectionId: string, listed: ReportedDispute[]): Promise<void> {
  const stored = await db().dispute.findMany({
    where: { connectionId, bankId: { in: listed.map(({ id }) => id) } },
    select: { bankId: true, status: true },
  })
  const statuses = new Map(stored.map(({ bankId, status }) => [bankId, status]))
  for (const { id: bankId, state, ...report } of listed)
    if (statuses.get(bankId) !== state) await VERBS[state]({ ...report, connectionId, bankId })
}
