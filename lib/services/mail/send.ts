import { createTransport, type Transporter } from 'nodemailer'
import { db } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { unseal } from '#lib/base/keys.ts'
import { log } from '#lib/base/log.ts'
import type { Mail } from '#lib/services/mail/write.ts'

const BATCH_MAX = 5
/** Longer than all timeouts of a mail together, so that no other worker sends it as well. */
const LEASE = '2 minutes'
/** Time limit for the connection, for the greeting, and for a socket without activity. */
const TIMEOUT_MS = 15_000
/** Maximum attempts: the pauses double from 30 s and last about four hours in total. */
const ATTEMPTS_MAX = 10

interface DueMail {
  id: string
  sealed: Uint8Array
  attempts: number
}

let cachedTransport: { url: string; transport: Transporter } | undefined

/** Sends at least once: a worker that dies between send and delete causes a second send. */
export async function sendDueMails(): Promise<number> {
  const due = await db().$queryRaw<DueMail[]>`
    UPDATE mails SET due_at = now() + ${LEASE}::interval, attempts = attempts + 1
    WHERE id IN (
      SELECT id FROM mails WHERE due_at <= now() ORDER BY due_at LIMIT ${BATCH_MAX}
      FOR UPDATE SKIP LOCKED)
    RETURNING id, sealed, attempts`
  await Promise.all(due.map(sendQueuedMail))
  return due.length
}

async function sendQueuedMail({ id, sealed, attempts }: DueMail): Promise<void> {
  const { SMTP_URL, TROCO_ENV } = env()
  try {
    const mail = JSON.parse(unseal(sealed, id, 'mails')) as Mail
    if (SMTP_URL) await getTransport(SMTP_URL).sendMail({ ...mail, from: env().MAIL_FROM })
    else if (TROCO_ENV === 'local') log().info(mail, 'mail written to the log: SMTP_URL is not set')
    else return await giveUp(id, 'SMTP_URL is not set')
    await db().$executeRaw`DELETE FROM mails WHERE id = ${id}::uuid`
  } catch (error) {
    const problem = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (attempts >= ATTEMPTS_MAX) return giveUp(id, problem)
    log().warn({ mailId: id, attempts, problem }, 'sending a mail failed, will be retried')
    await db().$executeRaw`
      UPDATE mails SET due_at = now() + make_interval(secs => ${30 * 2 ** (attempts - 1)}::int)
      WHERE id = ${id}::uuid`
  }
}

/** Gives up a mail and erases its text. The row remains for the system health page. */
async function giveUp(id: string, problem: string): Promise<void> {
  log().error({ mailId: id, problem }, 'mail discarded')
  await db().$executeRaw`
    UPDATE mails SET due_at = NULL, failed_at = now(), sealed = '' WHERE id = ${id}::uuid`
}

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
