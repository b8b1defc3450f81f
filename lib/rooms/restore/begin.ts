import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import { takeRestoreMark } from '#lib/base/backup/records.ts'
import { db } from '#lib/base/db/client.ts'
import { invalidInput } from '#lib/base/errors.ts'
import { closeMoneyOut, insertRestore } from '#lib/services/gateway/closures.ts'
import { renewFeedEpochs } from '#lib/services/webhooks/feed.ts'

/** With a million feeds, the statements take minutes. */
const TIMEOUT_MS = 3_600_000

export interface Begun {
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
