import type { Tx } from '#lib/base/db/client.ts'
import { queueMail } from '#lib/services/mail/queue.ts'
import type { Message } from '#lib/services/mail/write.ts'

export async function queueMailToOwners(
  tx: Tx,
  accountId: string,
  write: (accountName: string) => Message,
): Promise<void> {
  const owners = await tx.membership.findMany({
    where: { accountId, role: 'owner', user: { disabledAt: null } },
    select: {
      account: { select: { name: true } },
      user: { select: { email: true, locale: true } },
    },
  })
  for (const { account, user } of owners) await queueMail(tx, user, write(account.name))
}
