import { readFileSync } from 'node:fs'
import { unseal } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import type { Mail } from '#lib/mail/queue.ts'

/** Returns the queued mails, oldest first. */
export async function readMails(): Promise<Mail[]> {
  const rows = await db().mail.findMany({ orderBy: { id: 'asc' }, where: { failedAt: null } })
  return rows.map(({ id, sealed }) => JSON.parse(unseal(sealed, id, 'mails')) as Mail)
}

export async function mailsTo(email: string): Promise<Mail[]> {
  return (await readMails()).filter(({ to }) => to === email)
}

export async function findMailedLink(email: string): Promise<string> {
  return extractLink((await mailsTo(email)).at(-1), email)
}

/** Returns the link in the newest mail, or in the `nth`, to this address that was logged. */
export function findPrintedLink(email: string, logFile: string, nth?: number): string {
  const lines = readFileSync(logFile, 'utf8').split('\n')
  const mails = lines.filter(one => one.includes(`"to":"${email}"`))
  const line = mails.at(nth === undefined ? -1 : nth - 1)
  return extractLink(line ? (JSON.parse(line) as Mail) : undefined, email)
}

function extractLink(mail: Mail | undefined, email: string): string {
  const text = mail?.text ?? ''
  const link = /https?:\/\/[^/\s]+(\/\S+)/.exec(text)?.[1]
  if (!link) throw new Error(`No mail with a link was written to ${email}`)
  return link
}
