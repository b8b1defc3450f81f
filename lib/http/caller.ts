import type { AccountRef } from '#lib/db/columns.ts'
import { TrocoError } from '#lib/errors.ts'
import type { Incoming } from '#lib/http/exchange.ts'
import { isOwnOrigin } from '#lib/http/origin.ts'
import { countFailedBearer } from '#lib/http/rate-limit.ts'
import { isUuid } from '#lib/ids.ts'
import { isOpen, MODES, type Mode } from '#lib/mode.ts'
import { cookieNames } from '#lib/session/cookie.ts'
import { readSession } from '#lib/session/read.ts'
import { type Allowed, PAGE_PERMISSIONS, permissionsOf } from '#lib/session/roles.ts'
import { recallToken } from '#lib/tokens/recall.ts'
import { verifyToken } from '#lib/tokens/verify.ts'

export interface CallingAccount {
  id: string
  /** The account as a statement names it; for a remembered caller it is also the proof. */
  ref: AccountRef
  name: string
  city: string
  expiresIn: number
  isActive: boolean
}

/** Whoever sent a request: a program with a token, or a member of the account in our own pages. */
export interface Caller {
  kind: 'token' | 'session'
  mode: Mode
  permissions: readonly string[]
  account: CallingAccount
  /** The member, for the record of what was done; null for a program. */
  userId: string | null
  /** What the token is counted by; a session is counted by its address alone. */
  key: string | null
}

/** Who calls, asked of the database. A token goes before a cookie. */
export async function authenticate(incoming: Incoming): Promise<Caller> {
  const authorization = incoming.header('authorization')
  if (authorization === null) {
    const member = await readMember(incoming)
    if (member) return member
    throw unauthenticated()
  }
  const token = bearerOf(authorization)
  const known = token === null ? null : await verifyToken(token)
  if (known) {
    const account = { ...known.account, ref: known.account.id }
    return { kind: 'token', ...known, account, userId: null }
  }
  await countFailedBearer(incoming.ip)
  throw unauthenticated()
}

/** The token's caller of a moment ago. Its account's `ref` refuses the statement if that changed. */
export function recallCaller({ header }: Incoming): Caller | null {
  const token = bearerOf(header('authorization'))
  const known = token === null ? null : recallToken(token)
  return (
    known && {
      kind: 'token',
      ...known,
      account: { ...known.account, ref: { id: known.account.id, proof: known.proof } },
      userId: null,
    }
  )
}

function bearerOf(authorization: string | null): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

/** A cookie counts only with what our own pages say beside it: which world, and whose. */
async function readMember({ header }: Incoming): Promise<Caller | null> {
  const mode = MODES.find(known => known === header('troco-mode'))
  const accountId = header('troco-account')?.toLowerCase() ?? ''
  const secret = sessionSecret(header('cookie') ?? '')
  if (!mode || !isUuid(accountId) || secret === null) return null
  const user = await readSession(secret)
  const found = user?.accounts.find(({ id }) => id === accountId)
  if (!user || !found) return null
  const { name, city, expiresIn, status, role } = found
  const isActive = status === 'active'
  const permissions = permissionsOf(role)
  const account = { id: accountId, ref: accountId, name, city, expiresIn, isActive }
  return { kind: 'session', mode, permissions, account, userId: user.id, key: null }
}

function sessionSecret(cookies: string): string | null {
  const { session } = cookieNames()
  const pairs = cookies.split(';').map(pair => pair.trim().split('='))
  return pairs.find(([name]) => name === session)?.[1] ?? null
}

/** Whether the caller may do this at all, and a page's write came from a page of ours. */
export function authorize(
  caller: Caller,
  { method, header }: Incoming,
  allow: Allowed | Allowed[],
): void {
  const writes = !['GET', 'HEAD'].includes(method)
  if (!caller.account.isActive && (writes || caller.kind === 'token')) throw notActive()
  if (writes && caller.kind === 'session' && !isOwnOrigin(header('origin'))) {
    throw new TrocoError('cross_origin', 'Cross-origin request refused')
  }
  const wanted = [allow].flat()
  if (caller.kind === 'token' && wanted.every(isForPages)) throw sessionRequired()
  // Reading an empty world does no harm; nothing may begin in it.
  if (!isOpen(caller.mode) && wanted.some(beginsSomething)) {
    throw new TrocoError('live_mode_disabled', 'Live mode is not enabled')
  }
  if (wanted.some(permission => caller.permissions.includes(permission))) return
  const permission = wanted.join(' or ')
  throw new TrocoError('permission_denied', `Permission denied: ${permission}`, { permission })
}

/** Settings are of both worlds: to change them is nothing that happens in one. */
function beginsSomething(name: Allowed): boolean {
  return name.endsWith(':write') && name !== 'settings:write' && name !== 'profile:write'
}

function isForPages(name: Allowed): boolean {
  return (PAGE_PERMISSIONS as readonly string[]).includes(name)
}

function sessionRequired(): TrocoError {
  const message = 'This address is for the dashboard: sign in there, no token opens it'
  return new TrocoError('session_required', message)
}

export function notActive(): TrocoError {
  return new TrocoError('account_not_active', 'Account not active')
}

function unauthenticated(): TrocoError {
  return new TrocoError('unauthenticated', 'Unauthenticated')
}
