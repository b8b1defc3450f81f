import { recordAudit } from '#lib/audit/record.ts'
import type { AnswerEnd, GatewayResult, ReportedDispute } from '#lib/banks/gateway.ts'
import { createListReader, type ListReader } from '#lib/banks/list-reader.ts'
import { journalAnswer, withConnectionJournal } from '#lib/banks/record-call.ts'
import { gatewayOfConnection } from '#lib/banks/served.ts'
import { loseDispute, openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { type AnswerState, type DisputeRow, UNANSWERED } from '#lib/charges/disputes/schema.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, transaction } from '#lib/db/client.ts'

/** Time before now, or before the oldest open dispute was stored, of which disputes are listed. */
const PERIOD_MS = 30 * 86_400_000

const OPERATIONS = { open: openDispute, won: winDispute, lost: loseDispute }

const EVERY_MS = 5 * 60_000

/**
 * Creates a reader that opens and ends disputes as banks list them. After a crash at any point, or if two
 * processes read the same list, each dispute is booked once.
 */
export function createDisputeReader(now = () => new Date()): ListReader {
  return createListReader({
    name: 'disputes',
    everyMs: EVERY_MS,
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
  if (stored?.status !== state) await OPERATIONS[state]({ ...report, connectionId, bankId })
  const { answerState = null } = stored ?? {}
  if (isAnswered ? answerState !== 'taken' : answerState === 'pending')
    await endAnswer(connectionId, bankId, isAnswered)
}

/** Age after which an answer that the bank does not have never arrives there. */
const ARRIVAL_MAX_MS = 10 * 60_000

interface Answer {
  accountId: string
  id: string
  text: string
  by: string
}

/**
 * Sends the defense in an open dispute, which is stored before. After a crash or an unknown outcome it stays
 * `pending`: it is not sent again unless the bank's list shows that it never arrived. Called twice, the
 * second call is refused. Returns the state of the answer.
 */
export async function answerDispute({ accountId, id, text, by }: Answer): Promise<AnswerState> {
  const where = { accountId_id: { accountId, id } }
  const found = [accountId, id].every(isUuid) && (await db().dispute.findUnique({ where }))
  if (!found) throw refuse('not_found')
  const gateway = await gatewayOfConnection(found.connectionId)
  const call = gateway.answerDispute
  if (!call) throw refuse('dispute_refused', 'This bank takes no defense through its API')
  const answeredAt = new Date()
  if (!(await storeAnswer(found, { answer: text, answeredBy: by, answeredAt })))
    throw refuse('dispute_refused', 'This dispute has ended, or has an answer')
  const mode = found.mode as Mode
  const subject = { accountId, id, mode, connectionId: found.connectionId }
  const answerState = stateOf(
    await journalAnswer(call, gateway, subject, { id: found.bankId, text }),
  )
  const sent = { accountId, id, answerState: 'pending', answeredAt }
  await db().dispute.updateMany({ where: sent, data: { answerState } })
  return answerState
}

function storeAnswer(
  { accountId, id, mode, amount }: DisputeRow,
  data: { answer: string; answeredBy: string; answeredAt: Date },
): Promise<boolean> {
  return transaction(async tx => {
    const isUnanswered = [{ answerState: null }, { answerState: { in: UNANSWERED } }]
    const where = { accountId, id, status: 'open', OR: isUnanswered }
    const { count } = await tx.dispute.updateMany({
      where,
      data: { ...data, answerState: 'pending' },
    })
    if (count === 0) return false
    const actor = { type: 'user', id: data.answeredBy } as const
    const after = { mode, amount: Number(amount) }
    await recordAudit(tx, { actor, action: 'dispute.answered', accountId, target: id, after })
    return true
  })
}

function stateOf(result: GatewayResult<AnswerEnd>): AnswerState {
  if (result.outcome === 'ok') return result.value
  if (result.outcome === 'rejected') return 'refused'
  return result.outcome === 'unknown' ? 'pending' : 'unsent'
}

/** Settles an answer by the bank's list. One that is missing there may arrive until its time is over. */
async function endAnswer(connectionId: string, bankId: string, isAnswered: boolean): Promise<void> {
  const before = {
    answerState: 'pending',
    answeredAt: { lt: new Date(Date.now() - ARRIVAL_MAX_MS) },
  }
  await db().dispute.updateMany({
    where: { connectionId, bankId, ...(isAnswered ? {} : before) },
    data: { answerState: isAnswered ? 'taken' : 'unsent' },
  })
}
