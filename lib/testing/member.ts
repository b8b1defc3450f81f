import { expect } from 'vitest'
import type { ZodType } from 'zod'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { openSession } from '#lib/people/sessions.ts'
import { cookieNames } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import type { AccountlessOperation } from '#lib/testing/route-table.ts'
import { SINCE_LONG, VERIFIED } from '#lib/testing/verified.ts'

/** Creates a member with this role and a session. Returns the secret of the session. */
export async function signIn({ id: accountId }: Account, role: Role): Promise<string> {
  const email = `member-${newId()}@troco.example`
  const user = await db().user.create({ data: { id: newId(), email, name: email, ...VERIFIED } })
  await db().membership.create({ data: { accountId, userId: user.id, role } })
  return openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' })
}

/** Returns the id of a new session. */
export async function openSessionId(userId: string): Promise<string> {
  const secret = await openSession(userId, { ip: null, userAgent: 'a browser' })
  const where = { secretHash: hashSecret(secret) }
  return (await db().userSession.findUniqueOrThrow({ where })).id
}

export function pageHeaders(secret: string, accountId: string, mode = 'test') {
  return { ...personHeaders(secret), 'troco-mode': mode, 'troco-account': accountId }
}

export function personHeaders(secret: string) {
  return { cookie: `${cookieNames().session}=${secret}`, origin: env().PUBLIC_URL }
}

/**
 * Creates an admin without an account, with a second factor (required in production), and a
 * session.
 */
export async function signInAdmin(): Promise<string> {
  const secret = await signInWithoutAccount(true)
  const where = { secretHash: hashSecret(secret) }
  const { userId } = await db().userSession.findUniqueOrThrow({ where })
  const data = { userId, sealed: new Uint8Array(), confirmedAt: new Date() }
  await db().authenticator.create({ data })
  return secret
}

/** Creates a user without an account, optionally an admin, and a session. */
export async function signInWithoutAccount(isAdmin = false): Promise<string> {
  const email = `alone-${newId()}@troco.example`
  const user = await db().user.create({
    data: { id: newId(), email, name: email, isAdmin, ...SINCE_LONG, ...VERIFIED },
  })
  return openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' })
}

export function refusal({ status, text, headers }: Awaited<ReturnType<typeof call>>) {
  return [status, text, headers.get('x-error-code')]
}

/** Expects the shape without any additional property. */
export function expectShape(shape: ZodType, body: unknown): void {
  expect(shape.parse(body)).toEqual(body)
}

/** Calls an operation outside of accounts, with ids that do not exist in its path. */
export function callOperation(
  url: string,
  { method, path }: Pick<AccountlessOperation, 'method' | 'path'>,
  headers: Record<string, string> = {},
) {
  const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : {}
  return call(url, method, path.replaceAll(/\[\w+\]/g, newId()), { headers, body })
}
