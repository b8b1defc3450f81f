import type { Tx } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import type { Message, Recipient } from '#lib/mail/write.ts'

type Write = (accountName: string, to: Recipient) => Message

export function queueMailToOwners(tx: Tx, accountId: string, write: Write): Promise<void> {
  return queueMailToRoles(tx, accountId, ['owner'], write)
}

export async function queueMailToRoles(
  tx: Tx,
  accountId: string,
  roles: readonly string[],
  write: Write,
): Promise<void> {
  const members = await tx.membership.findMany({
    where: { accountId, role: { in: [...roles] }, user: { disabledAt: null } },
    select: { user: { select: { email: true, locale: true } } },
  })
  if (members.length === 0) return
  const { name } = await tx.account.findUniqueOrThrow({ where: { id: accountId } })
  for (const { user } of members) await queueMail(tx, user, write(name, user))
}
