import { randomBytes } from 'node:crypto'
import { hmac, isEqual } from '#lib/core/keys.ts'
import { cookieNames, readCookie } from '#lib/session/read.ts'

/** Validity of a mark. Every sign-in on the device issues a new one. */
export const MARK_SECONDS = 90 * 86_400
/** Maximum marks in one browser, one per user: the cookie stays below 600 bytes. */
const MARKS_MAX = 8
const ID_BYTES = 12
const ISSUER_BYTES = 9
const MAC_BYTES = 18
/**
 * Id, time of issue in ms, and two MACs: of this server as the issuer, which can be checked before
 * the user is known, and of the user. The user is only in that MAC, so a mark reveals no user.
 */
const MARK_FORMAT = /^([\w-]{16})\.([0-9a-z]{1,11})\.([\w-]{12})\.([\w-]{24})$/
const SEPARATOR = '~'

/** User for whom a mark counts, unless it was issued before one of the times. */
interface MarkOwner {
  id: string
  passwordChangedAt: Date | null
  devicesEndedAt: Date | null
}

/** Adds a new mark of the user to the marks of a browser, in place of the user's earlier ones. */
export function addMark(userId: string, marks: string, issuedAt = new Date()): string {
  const id = randomBytes(ID_BYTES).toString('base64url')
  const unsigned = `${id}.${issuedAt.getTime().toString(36)}`
  const macs = [signAsIssuer(unsigned), signForUser(userId, unsigned)]
  const mark = [unsigned, ...macs.map(mac => mac.toString('base64url'))].join('.')
  const others = marks.split(SEPARATOR).filter(other => MARK_FORMAT.test(other))
  const kept = others.filter(other => readMark(userId, other) === null)
  return [mark, ...kept].slice(0, MARKS_MAX).join(SEPARATOR)
}

/** Returns the id of a mark that is valid for this user; null if the device is unknown. */
export function findKnownDevice(owner: MarkOwner, marks: string): string | null {
  const endedAt = Math.max(
    Date.now() - MARK_SECONDS * 1_000,
    owner.passwordChangedAt?.getTime() ?? 0,
    owner.devicesEndedAt?.getTime() ?? 0,
  )
  for (const mark of marks.split(SEPARATOR).slice(0, MARKS_MAX)) {
    const found = readMark(owner.id, mark)
    if (found && found.issuedAt >= endedAt) return found.id
  }
  return null
}

/** Returns the id of the first mark that this server issued in time, for whatever user; or null. */
export function findIssuedMark(marks: string): string | null {
  const endedAt = Date.now() - MARK_SECONDS * 1_000
  for (const mark of marks.split(SEPARATOR).slice(0, MARKS_MAX)) {
    const [, id, issuedAt, issuer] = MARK_FORMAT.exec(mark) ?? []
    if (!id || !issuedAt || !issuer || Number.parseInt(issuedAt, 36) < endedAt) continue
    if (isEqual(Buffer.from(issuer, 'base64url'), signAsIssuer(`${id}.${issuedAt}`))) return id
  }
  return null
}

function readMark(userId: string, mark: string): { id: string; issuedAt: number } | null {
  const [, id, issuedAt, , mac] = MARK_FORMAT.exec(mark) ?? []
  if (!id || !issuedAt || !mac) return null
  const isSigned = isEqual(Buffer.from(mac, 'base64url'), signForUser(userId, `${id}.${issuedAt}`))
  return isSigned ? { id, issuedAt: Number.parseInt(issuedAt, 36) } : null
}

function signAsIssuer(unsigned: string): Buffer {
  return hmac('known-devices', unsigned).subarray(0, ISSUER_BYTES)
}

/** Not under TROCO_SECRET_BEFORE: a leaked secret would make marks with budgets without end. */
function signForUser(userId: string, unsigned: string): Buffer {
  return hmac('known-devices', `${userId} ${unsigned}`).subarray(0, MAC_BYTES)
}

interface CookieStore {
  get: (name: string) => { value?: string } | undefined
}

/** Returns the marks of the users who signed in with this browser; empty if there are none. */
export function readDeviceMarks(cookies: CookieStore): string {
  return cookies.get(cookieNames().device)?.value ?? ''
}

/** Returns the cookie that makes this browser a known device of the user. */
export function addDeviceMark(userId: string, marks: string, issuedAt = new Date()) {
  const { device: name, secure } = cookieNames()
  const value = addMark(userId, marks, issuedAt)
  return {
    name,
    value,
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    maxAge: MARK_SECONDS,
    secure,
  } as const
}

/** Returns the same cookie as a Set-Cookie header, for endpoints that work without Next. */
export function deviceCookieHeader(userId: string, cookieHeader: string): string {
  const marks = readCookie(cookieHeader, cookieNames().device) ?? ''
  const { name, value, path, maxAge, secure } = addDeviceMark(userId, marks)
  const attributes = `Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax`
  return `${name}=${value}; ${attributes}${secure ? '; Secure' : ''}`
}
