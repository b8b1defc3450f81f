import { addMark, MARK_SECONDS } from '#lib/people/known-device.ts'
import { cookieNames, readCookie } from '#lib/session/cookie.ts'

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
