import { Prisma, type Tx } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { refuse } from '#lib/base/errors.ts'
import { isUuid } from '#lib/base/ids.ts'
import { PROPOSAL_ENDED } from '#lib/base/page-refusals.ts'
import { endWithdrawal, explainNotEndable, standingSql } from '#lib/rooms/withdrawals/end.ts'
import type { EndOutcome } from '#lib/rooms/withdrawals/states.ts'
import { lockSecondAdmin } from '#lib/services/people/admins.ts'

interface Confirmation {
  accountId: string
  id: string
  /** The proposal that the second admin has seen. */
  proposalId: string
  by: string
}

/**
 * Ends a withdrawal as another admin proposed. Both admins stay locked until the commit, so that
 * neither loses the role meanwhile. Called twice, the second call is refused.
 */
export async function confirmEnd({ accountId, id, proposalId, by }: Confirmation): Promise<void> {
  if (![accountId, id, proposalId].every(isUuid)) throw refuse('withdrawal_not_found')
  const isEnded = await transaction(async tx => {
    const proposal = await findProposal(tx, accountId, id, proposalId)
    if (!(await lockSecondAdmin(tx, proposal.by, by))) throw refuse('end_by_other')
    const { outcome, reason } = proposal
    const decision = {
      actor: { type: 'user', id: by } as const,
      condition: standingSql(proposalId),
      assignments: Prisma.sql`end_confirmed_by = ${by}::uuid,`,
    }
    return (await endWithdrawal(tx, { accountId, id, outcome, reason }, decision)) !== null
  })
  if (!isEnded) throw await explainNotEndable(accountId, id)
  wake('deliveries')
}

async function findProposal(tx: Tx, accountId: string, id: string, proposalId: string) {
  const [proposal] = await tx.$queryRaw<{ outcome: EndOutcome; reason: string; by: string }[]>`
    SELECT w.end_outcome AS outcome, w.end_reason AS reason, w.end_proposed_by AS by
    FROM withdrawals w WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid
      AND w.ended_at IS NULL AND ${standingSql(proposalId)}`
  if (proposal) return proposal
  throw refuse('end_refused', PROPOSAL_ENDED)
}
