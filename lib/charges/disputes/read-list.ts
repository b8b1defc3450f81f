import { createListReader, type ListReader } from '#lib/banks/list-reader.ts'
import type { ReportedDispute } from '#lib/banks/lists.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { endAnswer } from '#lib/charges/disputes/answer.ts'
import { loseDispute, winDispute } from '#lib/charges/disputes/close.ts'
import { openDispute } from '#lib/charges/disputes/open.ts'
import { db } from '#lib/db/client.ts'

/** Time before now, or before the oldest open dispute was stored, of which disputes are listed. */
const PERIOD_MS = 30 * 86_400_000

const VERBS = { open: openDispute, won: winDispute, lost: loseDispute }

const EVERY_MS = 5 * 60_000

/**
 * Creates a reader that opens and ends disputes as banks list them. After a crash at any point, or if two
 * processes read the same list, each dispute is booked once.
 */
export function createDisputeReader(now = () => new Date()): ListReader {
  return createListReader({
    ...{ name: 'disputes', everyMs: EVERY_MS },
    findSince: connectionId => findBeginning(connectionId, now()),
    open: connection => withConnectionJournal(connection).listDisputes,
    book: bookDispute,
  })
}

/** A dispute is listed by its beginning, and must be found again when it ends. */
async function findBeginning(connectionId: string, now: Date): Promise<Date> {
  const { _min } = await db().dispute.aggregate({
    where: { connectionId, status: 'open' },
    _min: { createdAt: true },
  })
  return new Date((_min.createdAt ?? now).getTime() - PERIOD_MS)
}

async function bookDispute(
  connectionId: string,
  { id: bankId, state, isAnswered, ...report }: ReportedDispute,
): Promise<void> {
  const where = { connectionId_bankId: { connectionId, bankId } }
  const select = { status: true, answerState: true } as const
  const stored = await db().dispute.findUnique({ where, select })
  if (stored?.status !== state) await VERBS[state]({ ...report, connectionId, bankId })
  const { answerState = null } = stored ?? {}
  if (isAnswered ? answerState !== 'taken' : answerState === 'pending')
    await endAnswer(connectionId, bankId, isAnswered)
}
