import type { Tx } from '#lib/db/client.ts'
import { vouchedRows, vouchersSql } from '#lib/people/approvers.ts'

/** Returns by user the ids of everyone who answers for them now. */
export async function readVouchers(
  tx: Tx,
  accountId: string,
  userIds: readonly string[],
): Promise<Map<string, string[]>> {
  const rows = await tx.$queryRaw<{ id: string; ids: string[] }[]>`
    SELECT m.id, ${vouchersSql} AS ids FROM accounts a CROSS JOIN LATERAL ${vouchedRows(userIds)}
    WHERE a.id = ${accountId}::uuid`
  return new Map(rows.map(({ id, ids }) => [id, ids]))
}

/** Users who answer for a member with a new role: `via` lists them, `root` is the one they count as. */
export interface Vouchers {
  root: string
  via: string[]
}

/** Returns who answers for `userId` if `giver` gives them a role now, and who did so until now. */
export async function findVouchers(
  tx: Tx,
  { accountId, giver, userId }: { accountId: string; giver: string; userId: string },
): Promise<Vouchers> {
  const vouchers = await readVouchers(tx, accountId, [giver, userId])
  const [ofGiver, ofUser] = [vouchers.get(giver) ?? [giver], vouchers.get(userId) ?? []]
  return { root: ofGiver[1] ?? giver, via: [...new Set([...ofGiver, ...ofUser])] }
}
