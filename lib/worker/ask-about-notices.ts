import { claimNotices, endNotices, type Notice, QUESTIONS_MAX } from '#lib/banks/notices.ts'
import { listServed } from '#lib/banks/served.ts'
import { askAboutPayments } from '#lib/charges/ask-payments.ts'
import { hastenCharges, hastenReading } from '#lib/charges/hasten.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'
import { wake } from '#lib/db/wake.ts'
import { findClaimed } from '#lib/differences/unmatched.ts'
import { askAboutReturned } from '#lib/orders/ended.ts'
import { hastenOrders } from '#lib/orders/queue.ts'
import { noteTrialNotices } from '#lib/trials/begin.ts'

/** Questions about payments, by connection. */
const questions = new Pool()

/** Awaits the questions about payments that are in progress. */
export const awaitQuestions = () => questions.idle()

/**
 * Turns notices into questions: the charge or order of ours becomes due, and the jobs that ask about it
 * do the rest. A trial stores that its notice came. About a payment that none of them books, the bank is asked
 * by its id, in a pool, so that one that hangs delays no other. Nothing in a notice but its ids is used. Returns how
 * many notices were due.
 */
export async function askAboutNotices(): Promise<number> {
  const due = await claimNotices()
  for (const [connectionId, ofConnection] of Map.groupBy(due, notice => notice.connectionId)) {
    for (const [kind, notices] of Map.groupBy(ofConnection, notice => notice.kind)) {
      const open = await askAbout(
        connectionId,
        kind,
        notices.map(({ id }) => id),
      )
      const isOver = ({ id, attempts }: Notice) => !open.has(id) || attempts >= QUESTIONS_MAX
      await endNotices(notices.filter(isOver))
    }
  }
  return due.length
}

/** Returns the ids about which the bank must be asked again if this question finds nothing. */
async function askAbout(
  connectionId: string,
  kind: Notice['kind'],
  ids: string[],
): Promise<Set<string>> {
  if (kind === 'return') {
    // The notice of one that has not ended here is kept until it has: it may fail a moment after it was done.
    const open = await hastenOrders(connectionId, ids)
    await askAboutReturned(connectionId, ids)
    return open
  }
  const isPayment = kind === 'payment' || kind === 'payment_return'
  if (kind === 'charge' || isPayment)
    await noteTrialNotices(connectionId, isPayment ? 'payment' : kind, ids)
  if (!isPayment) {
    const isCharge = kind === 'charge'
    const open = await (isCharge ? hastenCharges : hastenOrders)(connectionId, ids)
    if (open.size > 0) wake(isCharge ? 'charges' : 'orders')
    return open
  }
  const booked = await findClaimed(connectionId, ids)
  const unbooked = ids.filter(id => !booked.has(id))
  // Of a payment that is booked, the bank may have given money back.
  const asked = kind === 'payment' ? unbooked : ids
  if (asked.length > 0) await lookFor(connectionId, asked)
  return new Set(unbooked)
}

/** While the bank has not answered the last questions, or for homologation, only its list is read. */
async function lookFor(connectionId: string, ids: string[]): Promise<void> {
  const connection = (await listServed()).find(({ id }) => id === connectionId)
  if (!connection || questions.free(connectionId) === 0) return hastenReading(connectionId)
  const logFailure = (err: unknown) =>
    log().error({ err, connectionId }, 'asking about payments failed')
  questions.start(askAboutPayments(connection, ids), logFailure, connectionId)
}
