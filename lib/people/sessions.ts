import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { hashSecret, newSecret } from '#lib/core/keys.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import { type Device, SESSIONS_MAX } from '#lib/people/schema.ts'

/** Maximum age of a session, even one in use. */
export const SESSION_SECONDS_MAX = 30 * 86_400

const IDLE_MAX_HOURS = 12

const USER_AGENT_MAX = 512

interface Caller {
  ip: string | null
  userAgent: string | null
  /** Time at which the user proved their identity, if it was not now. */
  provedAt?: Date
  /** Whether an OpenID provider signs the user in, which must still be connected. */
  isByOpenid?: boolean
}

export function activeSessionCondition(alias: string): Prisma.Sql {
  const row = Prisma.raw(alias)
  return Prisma.sql`${row}.revoked_at IS NULL AND ${row}.expires_at > now()
    AND ${row}.last_used_at > now() - make_interval(hours => ${IDLE_MAX_HOURS}::int)`
}

/**
 * Returns the secret; only its hash is stored. Fails if the user is disabled, or changed the
 * password or added a factor after `checkedAt`, when the credentials were checked, or if the OpenID
 * provider that signs the user in is no longer connected.
 */
export async function openSession(
  userId: string,
  caller: Caller,
  checkedAt = new Date(),
): Promise<string> {
  const secret = newSecret()
  const data = {
    id: newId(),
    userId,
    secretHash: hashSecret(secret),
    ip: caller.ip,
    userAgent: caller.userAgent?.slice(0, USER_AGENT_MAX) ?? null,
    provedAt: caller.provedAt,
    expiresAt: new Date(Date.now() + SESSION_SECONDS_MAX * 1000),
  }
  await transaction(async tx => {
    // Waits for a concurrent password or factor change, which cannot end an uncommitted session,
    // and for a concurrent sign-in, which must count this session.
    await tx.$queryRaw`SELECT FROM users WHERE id = ${userId}::uuid FOR NO KEY UPDATE`
    if (!(await isUnchanged(tx, userId, caller, checkedAt))) throw new Error('Sign in again')
    await endSurplusSessions(tx, userId)
    await tx.userSession.create({ data })
  })
  return secret
}

/** Makes room for one more session: of too many, those that were unused for longest end. */
async function endSurplusSessions(tx: Tx, userId: string): Promise<void> {
  await tx.$executeRaw`
    UPDATE user_sessions SET revoked_at = now() WHERE id IN (
      SELECT s.id FROM user_sessions s
      WHERE s.user_id = ${userId}::uuid AND ${activeSessionCondition('s')}
      ORDER BY s.last_used_at DESC, s.id DESC OFFSET ${SESSIONS_MAX - 1}::int)`
}

async function isUnchanged(
  tx: Tx,
  userId: string,
  { isByOpenid = false }: Caller,
  since: Date,
): Promise<boolean> {
  const [row] = await tx.$queryRaw<unknown[]>`
    SELECT FROM users u WHERE u.id = ${userId}::uuid AND u.disabled_at IS NULL
      AND (u.oidc_subject IS NOT NULL OR NOT ${isByOpenid})
      AND (u.password_changed_at IS NULL OR u.password_changed_at <= ${since})
      AND NOT EXISTS (SELECT FROM authenticators f
        WHERE f.user_id = u.id AND f.confirmed_at > ${since})
      AND NOT EXISTS (SELECT FROM passkeys p WHERE p.user_id = u.id AND p.created_at > ${since})`
  return row !== undefined
}

/** Ends a session. A copy of its cookie is refused from the next request on. */
export async function endSession(secret: string): Promise<void> {
  await db().userSession.updateMany({
    where: { secretHash: hashSecret(secret), revokedAt: null },
    data: { revokedAt: new Date() },
  })
}

export async function endSessionsOf(tx: Tx, userId: string, exceptId?: string): Promise<number> {
  const { count } = await tx.userSession.updateMany({
    where: { userId, revokedAt: null, id: exceptId && { not: exceptId } },
    data: { revokedAt: new Date() },
  })
  return count
}

/** Refuses a request whose session ended meanwhile. The caller holds a lock on the user's row. */
export async function requireActiveSession(tx: Tx, sessionId: string): Promise<void> {
  if ((await tx.userSession.count({ where: { id: sessionId, revokedAt: null } })) > 0) return
  throw refuse('unauthenticated')
}

export async function recordProof(sessionId: string): Promise<void> {
  await db().$executeRaw`UPDATE user_sessions SET proved_at = now() WHERE id = ${sessionId}::uuid`
}

interface SessionOwner {
  id: string
  sessionId: string
}

/** Returns a user's active sessions: the one of the request first, the others by last use. */
export async function listDevices({ id, sessionId }: SessionOwner): Promise<Device[]> {
  const columns = Prisma.sql`s.id, s.ip, s.user_agent, ${utc('s.created_at')},
    ${utc('s.last_used_at')}, s.id = ${sessionId}::uuid AS is_this`
  const rows = await queryRows<Omit<Device, 'browser' | 'system'> & { user_agent: string | null }>(
    Prisma.sql`SELECT ${asJson(columns)} ::text AS json FROM user_sessions s
      WHERE s.user_id = ${id}::uuid AND ${activeSessionCondition('s')}
      ORDER BY s.id = ${sessionId}::uuid DESC, s.last_used_at DESC, s.id`,
  )
  return rows.map(({ user_agent, ...device }) => ({ ...device, ...readUserAgent(user_agent) }))
}

export async function endDevice({ id: userId }: SessionOwner, id: string): Promise<void> {
  if (!isUuid(id)) throw sessionNotFound()
  await transaction(async tx => {
    const { count } = await tx.userSession.updateMany({
      where: { id, userId, revokedAt: null },
      data: { revokedAt: new Date() },
    })
    if (count === 0) throw sessionNotFound()
    await recordSignOut(tx, userId, 1)
  })
}

/** Ends all other sessions, and the marks of all devices. The caller renews that of this device. */
export function endOtherDevices({ id, sessionId }: SessionOwner): Promise<number> {
  return transaction(async tx => {
    const ended = await endSessionsOf(tx, id, sessionId)
    await tx.user.update({ where: { id }, data: { devicesEndedAt: new Date() } })
    if (ended > 0) await recordSignOut(tx, id, ended)
    return ended
  })
}

function sessionNotFound(): TrocoError {
  return refuse('session_not_found')
}

function recordSignOut(tx: Parameters<typeof recordAudit>[0], id: string, sessions: number) {
  const actor = { type: 'user', id } as const
  const after = { sessions }
  return recordAudit(tx, { actor, action: 'user.signed_out_elsewhere', target: id, after })
}

/** Browsers, the more specific first: most also claim to be Chrome or Safari. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOPT\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\/|\bChromium\//, 'Chrome'],
  [/\bVersion\/[\d.]{1,40}.{0,80} Safari\/|\bMobile\/\w{1,40} Safari\//, 'Safari'],
  [/^curl\//, 'curl'],
]

const SYSTEMS: [RegExp, string][] = [
  [/\biPhone\b|\biPod\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b|\bX11\b/, 'Linux'],
]

export function readUserAgent(text: string | null) {
  const find = (names: [RegExp, string][]) =>
    names.find(([pattern]) => pattern.test(text ?? ''))?.[1] ?? null
  return { browser: find(BROWSERS), system: find(SYSTEMS) }
}

const VIEWING_MINUTES = 30

interface Viewer {
  userId: string
  sessionId: string
}

/**
 * Opens an account's dashboard to a session of staff, read-only, for 30 minutes. Recorded in the
 * account's audit log and mailed to its owners. Ends an earlier viewing of the same session.
 */
export function beginViewing(viewer: Viewer, accountId: string, reason: string): Promise<Date> {
  return transaction(async tx => {
    await lockSession(tx, viewer)
    const account = isUuid(accountId) && (await tx.account.findUnique({ where: { id: accountId } }))
    if (!account) throw refuse('account_not_found')
    await clearViewing(tx, viewer)
    const until = new Date(Date.now() + VIEWING_MINUTES * 60_000)
    const data = { viewedAccountId: accountId, viewingUntil: until }
    await tx.userSession.update({ where: { id: viewer.sessionId }, data })
    const action = 'account.viewing_begun'
    const after = { until: until.toISOString() }
    await recordAudit(tx, { actor: actorOf(viewer), action, accountId, reason, after })
    await queueMailToOwners(tx, accountId, name => ({
      kind: 'accountViewed',
      account: name,
      reason,
      until,
      path: '/test/settings/audit',
    }))
    return until
  })
}

/** Ends the viewing of a session. Returns false if there is none, as in a second call. */
export function endViewing(viewer: Viewer): Promise<boolean> {
  return transaction(async tx => {
    await lockSession(tx, viewer)
    return clearViewing(tx, viewer)
  })
}

async function lockSession(tx: Tx, { sessionId }: Viewer): Promise<void> {
  await tx.$queryRaw`SELECT FROM user_sessions WHERE id = ${sessionId}::uuid FOR NO KEY UPDATE`
  await requireActiveSession(tx, sessionId)
}

/** A viewing whose time has passed ended by itself: its first record says when. */
async function clearViewing(tx: Tx, viewer: Viewer): Promise<boolean> {
  const where = { id: viewer.sessionId }
  const { viewedAccountId, viewingUntil } = await tx.userSession.findUniqueOrThrow({ where })
  if (viewedAccountId === null || viewingUntil === null) return false
  await tx.userSession.update({ where, data: { viewedAccountId: null, viewingUntil: null } })
  if (viewingUntil <= new Date()) return false
  const action = 'account.viewing_ended'
  await recordAudit(tx, { actor: actorOf(viewer), action, accountId: viewedAccountId })
  return true
}

function actorOf({ userId }: Viewer): Actor {
  return { type: 'user', id: userId }
}
