import { Prisma } from '#lib/base/db/client.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { wake } from '#lib/base/db/wake.ts'
import { refuse } from '#lib/base/errors.ts'
import { isUuid, newRoutableId } from '#lib/base/ids.ts'
import { endWithdrawal, explainNotEndable } from '#lib/rooms/withdrawals/end.ts'
import type { Ending } from '#lib/rooms/withdrawals/schema.ts'
import { areTwoAdmins } from '#lib/services/people/admins.ts'

/** Ends a withdrawal at the command line, for an installation without two admins who could do it. */
export async function endAlone(ending: Ending): Promise<void> {
  const { accountId, id, outcome, reason } = ending
  const isEnded =
    isUuid(id) &&
    (await transaction(async tx => {
      if (await areTwoAdmins(tx)) {
        const advice = 'one proposes and another confirms on the page of the account'
        throw refuse('end_refused', `There are two admins who can end it: ${advice}`)
      }
      const decision = {
        actor: { type: 'command_line' } as const,
        condition: Prisma.sql`true`,
        assignments: Prisma.sql`end_id = ${newRoutableId(accountId)}::uuid, end_outcome = ${outcome},
          end_reason = ${reason}, end_proposed_by = NULL, end_proposed_at = now(),`,
      }
      return (await endWithdrawal(tx, ending, decision)) !== null
    }))
  if (!isEnded) throw await explainNotEndable(accountId, id)
  wake('deliveries')
}
