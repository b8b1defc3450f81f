import { expect } from 'vitest'
import type { ZodType } from 'zod'
import { db } from '#lib/base/db/client.ts'
import { env } from '#lib/base/env.ts'
import { newId } from '#lib/base/ids.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import type { Account, Role } from '#lib/rooms/accounts/schema.ts'
import { hashSecret } from '#lib/services/people/secret.ts'
import { openSession } from '#lib/services/people/sessions.ts'
import { call } from '#lib/testing/call.ts'
import type { DoorOperation } from '#lib/testing/route-table.ts'

/** A browser in which somebody signed in who has this role in the account: its secret. */
export async function signIn({ id: accountId }: Account, role: Role): Promise<string> {
  const email = `member-${newId()}@troco.example`
  const user = await db().user.create({ data: { id: newId(), email, name: email } })
  await db().membership.create({ data: { accountId, userId: user.id, role } })
  return openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' })
}

/** What a page of ours sends that shows this account. */
export function pageHeaders(secret: string, accountId: string, mode = 'test') {
  return { ...personHeaders(secret), 'troco-mode': mode, 'troco-account': accountId }
}

/** The same of a page that belongs to no account. */
export function personHeaders(secret: string) {
  return { cookie: `${cookieNames().session}=${secret}`, origin: env().PUBLIC_URL }
}

/**
 * A browser in which one of the operator's staff signed in, who belongs to no account and has the
 * second factor that production asks of them.
 */
export async function signInAdmin(): Promise<string> {
  const secret = await signInAlone(true)
  const where = { secretHash: hashSecret(secret) }
  const { userId } = await db().userSession.findUniqueOrThrow({ where })
  const data = { userId, sealed: new Uint8Array(), confirmedAt: new Date() }
  await db().authenticator.create({ data })
  return secret
}

/** A browser of somebody who belongs to no account, and may be of the operator's staff. */
export async function signInAlone(isAdmin = false): Promise<string> {
  const email = `alone-${newId()}@troco.example`
  const user = await db().user.create({ data: { id: newId(), email, name: email, isAdmin } })
  return openSession(user.id, { ip: '203.0.113.9', userAgent: 'a browser' })
}

/** What a refusal says: its status, its words, and its code for programs. */
export function refusal({ status, text, headers }: Awaited<ReturnType<typeof call>>) {
  return [status, text, headers.get('x-error-code')]
}

/** It is of this shape, and holds nothing beside what the shape names. */
export function expectShape(shape: ZodType, body: unknown): void {
  expect(shape.parse(body)).toEqual(body)
}

/** A request to an address that belongs to no account, about things that are not there. */
export function knock(
  url: string,
  { method, path }: Pick<DoorOperation, 'method' | 'path'>,
  headers: Record<string, string> = {},
) {
  const body = ['GET', 'HEAD', 'DELETE'].includes(method) ? undefined : {}
  return call(url, method, path.replaceAll(/\[\w+\]/g, newId()), { headers, body })
}
