import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import type { Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { refuse } from '#lib/base/errors.ts'
import { PROPOSAL_ENDED } from '#lib/base/page-refusals.ts'
import { wakeSenders } from '#lib/services/gateway/closures.ts'
import { insertProposal, lockProposal, openClosures } from '#lib/services/gateway/opening.ts'
import { areTwoAdmins, lockSecondAdmin } from '#lib/services/people/admins.ts'

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
