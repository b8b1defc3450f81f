import { createTransport, type Transporter } from 'nodemailer'
import { unseal } from '#lib/core/keys.ts'
import { log } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { nowPlusMs, withLease } from '#lib/db/claim.ts'
import { db, Prisma } from '#lib/db/client.ts'
import type { Mail } from '#lib/mail/queue.ts'

const BATCH_MAX = 5
/** Time limit for the connection, for the greeting, and for a socket without activity. */
const TIMEOUT_MS = 15_000
/** Maximum attempts: the pauses double from the first one and last about four hours in total. */
const ATTEMPTS_MAX = 10
const FIRST_PAUSE_MS = 30_000

interface DueMail {
  id: string
  sealed: Uint8Array
  attempts: number
  lease: string
}

let cachedTransport: { url: string; transport: Transporter } | undefined

/** Sends at least once: a worker that dies between send and delete causes a second send. */
export function sendDueMails(): Promise<number> {
  const returning = Prisma.sql`r.id, r.sealed, r.attempts, r.lease`
  return withLease<DueMail>('mails', BATCH_MAX, due => Promise.all(due.map(sendQueuedMail)), {
    returning,
  })
}

async function sendQueuedMail(due: DueMail): Promise<void> {
  const { id, sealed, attempts } = due
  const { SMTP_URL, TROCO_ENV } = env()
  try {
    const mail = JSON.parse(unseal(sealed, id, 'mails')) as Mail
    if (SMTP_URL) await getTransport(SMTP_URL).sendMail({ ...mail, from: env().MAIL_FROM })
    else if (TROCO_ENV === 'local') log().info(mail, 'mail written to the log: SMTP_URL is not set')
    else return await giveUp(due, 'SMTP_URL is not set')
    await db().$executeRaw`DELETE FROM mails WHERE ${isOwn(due)}`
  } catch (error) {
    const problem = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (attempts >= ATTEMPTS_MAX) return giveUp(due, problem)
    log().warn({ mailId: id, attempts, problem }, 'sending a mail failed, will be retried')
    const dueAt = nowPlusMs(FIRST_PAUSE_MS * 2 ** (attempts - 1))
    await db().$executeRaw`UPDATE mails SET due_at = ${dueAt}, lease = NULL WHERE ${isOwn(due)}`
  }
}

/** Gives up a mail and erases its text. The row remains for the system health page. */
async function giveUp(due: DueMail, problem: string): Promise<void> {
  log().error({ mailId: due.id, problem }, 'mail discarded')
  await db().$executeRaw`
    UPDATE mails SET due_at = NULL, lease = NULL, failed_at = now(), sealed = '' WHERE ${isOwn(due)}`
}

const isOwn = ({ id, lease }: DueMail) => Prisma.sql`id = ${id}::uuid AND lease = ${lease}::uuid`

function getTransport(url: string): Transporter {
  if (cachedTransport?.url === url) return cachedTransport.transport
  const { hostname } = new URL(url)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  const transport = createTransport({
    url,
    // Neither credentials nor the links of mails, which open accounts, cross the network unencrypted.
    requireTLS: !isLocal,
    disableFileAccess: true,
    disableUrlAccess: true,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  })
  cachedTransport = { url, transport }
  return transport
}
