import type { Transporter } from 'nodemailer'
import { newId } from '#lib/core/ids.ts'
import { seal, unseal } from '#lib/core/keys.ts'
import { HOME_TIME_ZONE, LOCALES, type Locale } from '#lib/core/locale.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import { nowPlusMs, withLease } from '#lib/db/claim.ts'
import { db, Prisma, type Tx } from '#lib/db/client.ts'
import { MAIL_WORDS } from '#messages/words.ts'

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

type MailTexts = (typeof MAIL_WORDS)[Locale]
type Change = keyof MailTexts['mailChange']
type Decided = keyof MailTexts['mailDecided']
type Ordered = keyof MailTexts['mailOrder']
type Role = Exclude<keyof MailTexts['mailRole'], 'operator'>

/** Content of a mail, by kind. `path` is relative to PUBLIC_URL; the mail shows the full URL. */
export type Message =
  | { kind: 'invitation'; account: string; inviter: string; role: Role; path: string }
  | { kind: 'opening'; path: string }
  | { kind: 'signUp'; path: string }
  | { kind: 'alreadyRegistered' }
  | { kind: 'emailLink'; path: string }
  | { kind: 'passwordReset'; path: string }
  | { kind: 'passwordResetByStaff'; path: string; reason: string }
  | { kind: 'passwordChanged'; at: Date; ip: string | null }
  | { kind: 'secondFactorChanged'; at: Date; ip: string | null; change: Change }
  | { kind: 'secondFactorReset'; at: Date; reason: string }
  | { kind: 'wrongCodes'; at: Date; ip: string | null; count: string }
  | { kind: 'openidLinked'; at: Date; ip: string | null; provider: string }
  | { kind: 'openidUnlinked'; at: Date; provider: string }
  | { kind: 'roleChanged'; account: string; role: Role }
  | { kind: 'memberRemoved'; account: string }
  | {
      kind: 'tokenRevoked'
      account: string
      token: string
      ending: string
      reason: string
      path: string
    }
  | { kind: 'tokensRevoked'; account: string; count: string; reason: string; path: string }
  | {
      kind: 'withdrawalWaiting'
      mode: Mode
      account: string
      amount: string
      /** Null: a token of the operator. */
      requester: string | null
      ends: Date
      path: string
    }
  | {
      kind: 'withdrawalsWaiting'
      mode: Mode
      account: string
      count: string
      ends: Date
      path: string
    }
  | { kind: 'approverAdded'; account: string; member: string }
  | { kind: 'approvalChange'; account: string; requester: string; path: string }
  | {
      kind: 'orderEndProposed' | 'orderEnded'
      ordered: Ordered
      /** Empty for a return, which belongs to no account. */
      account: string
      amount: string
      decided: Decided
      reason: string
      path: string
    }
  | {
      kind: 'correctionProposed' | 'correctionBooked'
      account: string
      amount: string
      reason: string
      path: string
    }
  | { kind: 'connectionAdded'; connection: string; by: string; path: string }
  | { kind: 'certificateEnds'; connection: string; ends: Date; path: string }
  | { kind: 'accountActivated'; account: string }
  | { kind: 'accountSuspended'; account: string; reason: string }
  | { kind: 'accountViewed'; account: string; reason: string; until: Date; path: string }

export interface Recipient {
  email: string
  /** Language chosen by the user; null before the first choice. */
  locale: string | null
}

export interface Mail {
  to: string
  subject: string
  text: string
}

const DEFAULT_PATHS: Partial<Record<Message['kind'], string>> = {
  passwordChanged: '/reset',
  secondFactorChanged: '/reset',
  secondFactorReset: '/reset',
  wrongCodes: '/reset',
  openidLinked: '/reset',
}

export function writeMail({ email, locale }: Recipient, message: Message): Mail {
  const language = LOCALES.find(candidate => candidate === locale) ?? 'pt-BR'
  const texts = MAIL_WORDS[language]
  const path = 'path' in message ? message.path : (DEFAULT_PATHS[message.kind] ?? '/login')
  const { PUBLIC_URL } = env()
  const values: Record<string, string> = {
    link: PUBLIC_URL + path,
    resetLink: `${PUBLIC_URL}/reset`,
    email,
  }
  for (const [name, value] of Object.entries(message)) {
    if (value instanceof Date) {
      values[name] = value.toLocaleString(language, { timeZone: HOME_TIME_ZONE })
    } else if (value !== null) values[name] = value
  }
  // In quotes, the name chosen by a merchant does not read as a part of the sentence.
  if ('account' in message) values.account = `“${message.account.replace(/["“”]/g, "'")}”`
  // Outside of a request, and after its connection has closed, the address is unknown.
  if ('ip' in message)
    values.from = message.ip ? fillPlaceholders(texts.mailFrom, { ip: message.ip }) : ''
  if ('role' in message) values.role = texts.mailRole[message.role]
  if ('requester' in message) values.requester = message.requester ?? texts.mailRole.operator
  if ('decided' in message) values.decided = texts.mailDecided[message.decided]
  if ('ordered' in message)
    values.order = fillPlaceholders(texts.mailOrder[message.ordered], values)
  if ('change' in message) values.change = texts.mailChange[message.change]
  const template = texts.mail[message.kind]
  const subject = fillPlaceholders(template.subject, values)
  const text = fillPlaceholders(template.text, values)
  const isTest = 'mode' in message && message.mode === 'test'
  return {
    to: email,
    subject: toOneLine(isTest ? `[${texts.mailTest.label}] ${subject}` : subject),
    text: `${isTest ? `${texts.mailTest.notice}\n\n` : ''}${text}\n`,
  }
}

function fillPlaceholders(text: string, values: Record<string, string>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

/** Collapses line breaks: a merchant's name in the subject must not inject a mail header. */
function toOneLine(text: string): string {
  return text.replace(/\s+/g, ' ')
}

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
    if (SMTP_URL) await (await getTransport(SMTP_URL)).sendMail({ ...mail, from: env().MAIL_FROM })
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

async function getTransport(url: string): Promise<Transporter> {
  if (cachedTransport?.url === url) return cachedTransport.transport
  const { hostname } = new URL(url)
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  // 4 MB, which a process that sends no mail is spared.
  const { createTransport } = await import('nodemailer')
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
