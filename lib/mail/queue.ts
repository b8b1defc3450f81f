import { newId } from '#lib/core/ids.ts'
import { seal } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import type { Tx } from '#lib/db/client.ts'
import { type Message, type Recipient, writeMail } from '#lib/mail/write.ts'

/** Sent only after the commit. Stored encrypted: a link in it may give access like a password. */
export async function queueMail(tx: Tx, to: Recipient, message: Message): Promise<void> {
  const id = newId()
  const sealed = seal(JSON.stringify(writeMail(to, message)), id, 'mails')
  await tx.mail.create({ data: { id, sealed, dueAt: new Date() } })
}

/** Returns whether mails can be read. Without a mail server, a local installation logs them. */
export function canSendMail(): boolean {
  return isMailServerSet() || env().TROCO_ENV === 'local'
}

export function isMailServerSet(): boolean {
  return env().SMTP_URL !== undefined
}
