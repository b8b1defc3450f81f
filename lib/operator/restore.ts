import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { takeRestoreMark } from '#lib/backup/records.ts'
import { listPauseMs } from '#lib/banks/breaker.ts'
import {
  type ClosureReading,
  claimClosures,
  closeMoneyOut,
  endClosure,
  endClosureList,
  insertProposal,
  insertRestore,
  keepClosurePosition,
  type ListName,
  lockProposal,
  openClosures,
  postponeClosure,
  wakeSenders,
} from '#lib/banks/closures.ts'
import type { GatewayResult, Listing, TakenOrder } from '#lib/banks/gateway.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { noteUnread } from '#lib/charges/read-payments.ts'
import { bookPage } from '#lib/charges/receive.ts'
import { Pool } from '#lib/core/concurrency.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { PROPOSAL_ENDED } from '#lib/core/refusals.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { type HeldKind, holdOrder, holdUnread } from '#lib/differences/differences.ts'
import { findOrder, type RulesByKind, rulesOf } from '#lib/orders/order.ts'
import { areTwoAdmins, lockSecondAdmin } from '#lib/people/approvers.ts'
import { renewFeedEpochs } from '#lib/webhooks/events.ts'
import { approvePaid } from '#lib/withdrawals/outcome.ts'

/** With a million feeds, the statements take minutes. */
const TIMEOUT_MS = 3_600_000

interface Begun {
  /** False: it was begun before for this restore point, and nothing was changed. */
  isNew: boolean
  restoredTo: Date
  begunAt: Date
  feeds: number
  connections: number
}

/**
 * Begins the time after a restore of the database, before it serves again: each event feed gets another epoch,
 * and nothing is sent to a bank until it is read what it has sent since the restore point. All of it or, after a
 * crash, nothing; called again for the same point, it changes nothing. A time that is later than the one that the
 * restore has noted in the database gives way to it, and so does one that was begun before.
 */
export async function beginRestore(to: Date, actor: Actor): Promise<Begun> {
  if (Number.isNaN(to.getTime()) || to > new Date())
    throw invalidInput('to', 'must be a time in the past')
  return db().$transaction(
    async tx => {
      await tx.$executeRaw`SET LOCAL statement_timeout = 0`
      const noted = await takeRestoreMark(tx)
      const named = noted && noted < to ? noted : to
      const first = await insertRestore(tx, named)
      // A point that was begun before cannot be that of the restore which has left the mark.
      const isOther = noted !== null && !first.isNew
      const { id, begunAt, isNew } = isOther ? await insertRestore(tx, noted) : first
      const restoredTo = isOther ? noted : named
      if (!isNew) return { isNew, restoredTo, begunAt, feeds: 0, connections: 0 }
      const connections = await closeMoneyOut(tx, id)
      const feeds = await renewFeedEpochs(undefined, tx)
      const after = { restored_to: restoredTo.toISOString(), feeds, connections }
      await recordAudit(tx, { actor, action: 'restore.begun', target: id, after })
      return { isNew, restoredTo, begunAt, feeds, connections }
    },
    { timeout: TIMEOUT_MS },
  )
}

interface Opening {
  connectionId: string
  by: string
  reason: string
  /** The proposal that the second admin has seen; without one, this is a proposal. */
  proposalId?: string | undefined
}

const NOT_CLOSED = 'Money out of this connection is not closed'

/**
 * Proposes to open money out of a connection whose bank cannot be read after a restore, or opens it as another
 * admin proposed: both have compared the books with the bank's statement. Both admins stay locked until the commit.
 */
export async function openMoneyOut(opening: Opening): Promise<'proposed' | 'opened'> {
  const { connectionId, by, reason, proposalId } = opening
  const actor = { type: 'user', id: by } as const
  if (proposalId === undefined) {
    await transaction(async tx => {
      if (!(await insertProposal(tx, connectionId, { by, reason })))
        throw refuse('opening_refused', NOT_CLOSED)
      const action = 'connection.money_out_proposed'
      await recordAudit(tx, { actor, action, target: connectionId, reason })
    })
    return 'proposed'
  }
  await transaction(async tx => {
    const proposal = await lockProposal(tx, connectionId, proposalId)
    if (!proposal) throw refuse('opening_refused', PROPOSAL_ENDED)
    if (!(await lockSecondAdmin(tx, proposal.by, by))) throw refuse('end_by_other')
    await open(tx, opening, actor)
  })
  wakeSenders()
  return 'opened'
}

/** Opens money out at the command line, for an installation without two admins who could do it. */
export async function openAlone(connectionId: string, reason: string): Promise<void> {
  await transaction(async tx => {
    if (await areTwoAdmins(tx)) {
      const advice = 'one proposes and another confirms on the page of the connection'
      throw refuse('opening_refused', `There are two admins who can open it: ${advice}`)
    }
    await open(tx, { connectionId, reason }, { type: 'command_line' })
  })
  wakeSenders()
}

async function open(
  tx: Tx,
  { connectionId, reason }: Pick<Opening, 'connectionId' | 'reason'>,
  actor: Actor,
): Promise<void> {
  const confirmedBy = actor.type === 'user' ? actor.id : null
  if (!(await openClosures(tx, connectionId, { confirmedBy, reason })))
    throw refuse('opening_refused', NOT_CLOSED)
  const entry = { action: 'connection.money_out_opened', target: connectionId, reason }
  await recordAudit(tx, { actor, ...entry, after: { by: confirmedBy ? 'admins' : 'command_line' } })
}

/** Pause before what could not be read is read on, or what has not ended at the bank is read again. */
const RETRY_PAUSE_MS = 60_000
/** Pause of a bank without lists: another version of its adapter may have them. */
const UNLISTED_PAUSE_MS = 5 * 60_000

export interface RestoreReader {
  /** Starts what is due. Returns how many readings that were. */
  run: (signal?: AbortSignal) => Promise<number>
  idle: () => Promise<void>
}

/**
 * Creates the reader of what banks have received and sent since a restore. Money out of a connection opens by
 * itself when all is read and booked. After a crash at any point, or if two processes read the same list, each
 * payment is booked once; an order that cannot be booked keeps the connection closed.
 */
export function createRestoreReader(byKind: RulesByKind): RestoreReader {
  const pool = new Pool({ perKeyMax: Number.POSITIVE_INFINITY })
  return {
    async run(signal) {
      const served = (await listServed()).filter(({ gateway }) => !gateway.local)
      const connections = new Map(served.map(connection => [connection.id, connection]))
      const due = served.length > 0 ? await claimClosures([...connections.keys()]) : []
      for (const reading of due) {
        const connection = connections.get(reading.connectionId) as ServedConnection
        pool.start(readOn(connection, reading, byKind, signal), async error => {
          const { connectionId, list } = reading
          log().error({ err: error, connectionId, list }, 'reading after a restore failed')
          await postponeClosure(reading, { ...AGAIN, flaw: 'failed' }).catch(() => {})
        })
      }
      return due.length
    },
    idle: () => pool.idle(),
  }
}

const AGAIN = { pauseMs: RETRY_PAUSE_MS, position: null }

/** Reads list after list. Ends when the lease is lost or people have opened the connection. */
async function readOn(
  connection: ServedConnection,
  first: ClosureReading,
  byKind: RulesByKind,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let reading: ClosureReading | null = first; reading; ) {
    const readPage = pageReaderOf(connection, reading, byKind)
    if (!readPage) {
      const unlisted = { pauseMs: UNLISTED_PAUSE_MS, position: null, flaw: `no_${reading.list}` }
      return postponeClosure(reading, unlisted)
    }
    const page = await readPage()
    if ('failure' in page) return postponeFailed(reading, page.failure)
    const { nextCursor, unsettled } = page
    if (nextCursor !== null) {
      if (!(await keepClosurePosition(reading, nextCursor, unsettled))) return
      if (signal?.aborted)
        return postponeClosure(reading, { pauseMs: 0, position: nextCursor, flaw: null })
      reading = { ...reading, position: nextCursor }
    } else if (reading.list === 'payouts') {
      await endClosure(reading, unsettled, RETRY_PAUSE_MS)
      return
    } else reading = await endClosureList(reading, unsettled)
  }
}

function postponeFailed(
  reading: ClosureReading,
  failure: Extract<PageRead, { failure: unknown }>['failure'],
): Promise<void> {
  const { retryCursor = null } = 'retryCursor' in failure ? failure : {}
  const pauseMs = listPauseMs(failure, RETRY_PAUSE_MS)
  return postponeClosure(reading, { pauseMs, position: retryCursor, flaw: failure.outcome })
}

type List<Item> = (since: Date, cursor: string | null) => Promise<GatewayResult<Listing<Item>>>

/** Reads the list of a bank from a position on, and books the page. Undefined: the bank has no such list. */
type PageReader = (() => Promise<PageRead>) | undefined
type PageRead =
  | { failure: Exclude<GatewayResult<never>, { outcome: 'ok' }> }
  | { nextCursor: string | null; unsettled: number }

/** Returns the reader of the next page of a reading. */
function pageReaderOf(
  connection: ServedConnection,
  reading: ClosureReading,
  byKind: RulesByKind,
): PageReader {
  const { listPayments, listTakenRefunds, listTakenPayouts } = withConnectionJournal(connection)
  const { connectionId, since, position } = reading
  const orders = (list: List<TakenOrder> | undefined, kind: HeldKind) =>
    list &&
    (async (): Promise<PageRead> => {
      const page = await list(since, position)
      if (page.outcome !== 'ok') return { failure: page }
      const { items, unread = [], nextCursor } = page.value
      let unsettled = 0
      for (const item of items)
        if (!(await bookTaken(item, { kind, connectionId, byKind }))) unsettled++
      for (const each of unread) await holdUnread(kind, connectionId, each)
      return { nextCursor, unsettled }
    })
  const readers: Record<ListName, PageReader> = {
    payments:
      listPayments &&
      (async () => {
        const page = await listPayments(since, position)
        if (page.outcome !== 'ok') return { failure: page }
        const { items, unread = [], nextCursor } = page.value
        await bookPage(connectionId, items)
        await noteUnread(connectionId, unread)
        return { nextCursor, unsettled: 0 }
      }),
    refunds: orders(listTakenRefunds, 'refund_unbooked'),
    payouts: orders(listTakenPayouts, 'payout_unbooked'),
  }
  return readers[reading.list]
}

/**
 * Books that an order has been executed that the bank lists, also if it waits for a member's approval, which it had
 * before the restore. One that the books lack, or contradict, is a difference, for people. Called again, it does
 * nothing. Returns false if it is neither in the books nor ended at the bank, or was changed meanwhile.
 */
async function bookTaken(
  order: TakenOrder,
  { kind, connectionId, byKind }: { kind: HeldKind; connectionId: string; byKind: RulesByKind },
): Promise<boolean> {
  const known = await findOrder(order.id)
  if (!known) return order.isDone && holdOrder(kind, connectionId, order, 'order_unknown')
  if (known.state === 'refused' || known.amount !== BigInt(order.amount))
    return holdOrder(kind, connectionId, order, 'contradicted', known.accountId)
  if (known.state === 'done') return true
  if (!order.isDone) return known.state !== 'held'
  if (known.kind === 'withdrawal') {
    const { accountId, id: withdrawalId } = known
    return (await approvePaid({ accountId, withdrawalId }, order.endToEndId)) !== null
  }
  const endToEndId = order.returnId ?? order.id
  return rulesOf(known, byKind).end(known, { state: 'done', endToEndId }, null)
}
