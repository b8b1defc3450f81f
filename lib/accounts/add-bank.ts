import { addRequested } from '#lib/banks/add-connection.ts'
import type { BankRequest } from '#lib/banks/schema.ts'
import { db } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { listAdmins } from '#lib/people/admins.ts'

/**
 * Adds a connection to a bank from a page, and mails all admins: with one, somebody could have merchants
 * paid elsewhere. Called twice with one name, the second call is refused. Returns its id.
 */
export async function addBank(
  request: BankRequest,
  actor: { type: 'user'; id: string },
): Promise<string> {
  const { email: by } = await db().user.findUniqueOrThrow({ where: { id: actor.id } })
  return addRequested(request, actor, async (tx, { id, name }) => {
    const message = { kind: 'connectionAdded', connection: name, by } as const
    for (const admin of await listAdmins(tx))
      await queueMail(tx, admin, { ...message, path: `/admin/banks/${id}` })
  })
}
