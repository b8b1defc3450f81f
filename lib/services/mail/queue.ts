import type { Tx } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import { seal } from '#lib/base/keys.ts'
import { type Message, type Recipient, writeMail } from '#lib/services/mail/write.ts'

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
