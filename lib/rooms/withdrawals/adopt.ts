import { Prisma } from '#lib/base/db/client.ts'
import { toUuid } from '#lib/base/ids.ts'
import {
  findKnown,
  findOwners,
  findRepeated,
  isOfTry,
  type KnownWithdrawal,
} from '#lib/rooms/withdrawals/find-lost.ts'
import { insertLost } from '#lib/rooms/withdrawals/insert-lost.ts'
import { approveWithdrawal } from '#lib/rooms/withdrawals/settle.ts'
import type { Booked, Restored } from '#lib/services/gateway/closures.ts'
import type { TakenOrder } from '#lib/services/gateway/lists.ts'
import { type Held, holdOrder, releaseOrder } from '#lib/services/house/held-orders.ts'

/**
 * Books a payout that the bank has taken and the restored books may lack. If the withdrawal is missing, one that
 * was requested since the restore with the same key and amount takes the payment, because its client has most
 * likely repeated the request; else the withdrawal is written again, and its amount leaves the account. What can be
 * charged to no account is held in the inbox. Called again, it does nothing.
 */
export async function adoptPayout(restored: Restored, order: TakenOrder): Promise<Booked> {
  const { connectionId } = restored
  const id = toUuid(order.id)
  const hold = (cause: Held['cause'], accountId: string | null = null) =>
    holdOrder('payout_unbooked', connectionId, order, { cause, accountId })
  const known = await findKnown(id, order)
  if (known?.status === 'rejected' || known?.isSame === false)
    return hold('contradicted', known.accountId)
  if (known) {
    const isPending = known.status === 'pending'
    // Nobody asks about it while it waits for an approval, which it had before the restore.
    if (isPending && known.isWaiting && !order.isDone) return 'unsettled'
    if (isPending && order.isDone && !(await settle(known, order))) return 'unsettled'
    return releaseOrder('payout_unbooked', connectionId, order)
  }
  if (await isOfTry(id)) return 'booked'
  if (!order.isDone) return 'unsettled'
  const owners = await findOwners(id)
  const [accountId] = owners
  const isClear = accountId !== undefined && owners.length === 1
  const repeated = await findRepeated(restored, owners, order)
  const lost = repeated ?? (isClear ? { accountId, id } : null)
  if (!lost) return hold('account_unknown')
  if (!repeated && !(await insertLost(connectionId, lost, order)))
    return hold('balance', lost.accountId)
  if (!(await settle(lost, order))) return 'unsettled'
  return releaseOrder('payout_unbooked', connectionId, order)
}

/** Settles as paid, also what waits for a member's approval. Returns false if it was settled meanwhile. */
async function settle(
  { accountId, id: withdrawalId }: Pick<KnownWithdrawal, 'accountId' | 'id'>,
  { endToEndId }: TakenOrder,
): Promise<boolean> {
  const ofWithdrawal = Prisma.sql`approval_due_at = NULL,`
  const decision = { condition: Prisma.sql`true`, ofWithdrawal }
  return (await approveWithdrawal({ accountId, withdrawalId, endToEndId, decision })) !== null
}
