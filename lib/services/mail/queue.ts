import type { Tx } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import { seal } from '#lib/base/keys.ts'
import { type Message, type Recipient, writeLetter } from '#lib/services/mail/write.ts'

/**
 * Writes a mail in the transaction that it tells of: it is sent if that happened, and only then.
 * Sealed, since the link in it may be as good as a password.
 */
export async function queueMail(tx: Tx, to: Recipient, message: Message): Promise<void> {
  const id = newId()
  const sealed = seal(JSON.stringify(writeLetter(to, message)), id, 'mails')
  await tx.mail.create({ data: { id, sealed, dueAt: new Date() } })
}

/** Whether a mail would come to anybody: in local use it comes to whoever reads the log. */
export function canMail(): boolean {
  const { SMTP_URL, TROCO_ENV } = env()
  return SMTP_URL !== undefined || TROCO_ENV === 'local'
}
