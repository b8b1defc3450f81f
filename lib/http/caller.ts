import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { memberLock, permissionLock } from '#lib/accounts/members.ts'
import { readAccessToken, type Scope } from '#lib/api-pix/access-tokens.ts'
import { createAuditNote } from '#lib/audit/record.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { env } from '#lib/core/settings.ts'
import type { Tx } from '#lib/db/client.ts'
import { type Authority, accountSql } from '#lib/db/sql.ts'
import type { HttpRequest } from '#lib/http/exchange.ts'
import { countFailedBearer } from '#lib/http/rate-limit.ts'
import {
  type AnyPermission,
  isActiveAccount,
  isForPagesOnly,
  isWriteAllowedInactive,
  listPermissions,
  needsOpenMode,
} from '#lib/people/roles.ts'
import { type ProofRule, requireProof } from '#lib/session/proof.ts'
import { cookieNames, readCookie, readSession } from '#lib/session/read.ts'
import type { SessionAccount, SessionUser } from '#lib/session/schema.ts'
import {
  authenticateHash,
  authenticateToken,
  type FoundRow,
  type RowAlong,
  type TokenCaller,
  tokenProof,
} from '#lib/tokens/authenticate.ts'
import type { Owner } from '#lib/webhooks/owner.ts'

export interface CallingAccount {
  id: string
  /** The account in a statement that moves money out. */
  authority: Authority
  name: string
  city: string
  expiresIn: number
  isActive: boolean
  /** Connection of new charges; null: the account creates none in live mode. */
  receivingConnectionId: string | null
  /** Connection of new withdrawals; null: the account pays nothing out in live mode. */
  payingConnectionId: string | null
  role: SessionAccount['role'] | null
  /** Amount above which a charge must have been reviewed; null: none, as for each token. */
  chargeReviewAbove: number | null
}

/** Sender of a request: a program with a token, or a member in the dashboard. */
export interface Caller {
  kind: 'token' | 'session'
  mode: Mode
  permissions: readonly string[]
  account: CallingAccount
  user: SessionUser | null
  /** Member who answers for the request: the user, or the issuer of the token. */
  responsibleId: string | null
  /** Members who may know the token without being its issuer now. */
  formerIssuers: readonly string[]
  /** Whether staff views the account: it changes nothing and sees no whole document. */
  isViewing: boolean
  /** Rate limit key of the token; null for a session: its requests count for the address only. */
  key: string | null
  tokenId: string | null
  /** Returns whether the token may be used from this address; null: a session may from any. */
  isAllowedFrom: ((address: string) => boolean) | null
  /** The row that was read with a token. */
  found?: FoundRow | null
}

/** Identifies the caller in the database, for a token with a row of its account. A token takes precedence over a cookie. */
export async function authenticate(
  incoming: HttpRequest,
  along: RowAlong | null = null,
): Promise<Caller> {
  const authorization = incoming.header('authorization')
  if (authorization === null) {
    const member = await readSessionCaller(incoming)
    if (member) return member
    throw unauthenticated()
  }
  const token = bearerOf(authorization)
  const tokenCaller = token === null ? null : await authenticateToken(token, incoming.ip, along)
  if (tokenCaller) return toTokenCaller(tokenCaller)
  await countFailedBearer(incoming.ip)
  throw unauthenticated()
}

/**
 * Identifies the API token behind an access token of API Pix, which paths of API Pix alone accept, and nothing else. Refuses
 * one without the scope.
 */
export async function authenticateApiPix(incoming: HttpRequest, scope?: Scope): Promise<Caller> {
  const access = readAccessToken(bearerOf(incoming.header('authorization')) ?? '')
  const tokenCaller = access && (await authenticateHash(access.hash, incoming.ip))
  if (!tokenCaller) {
    await countFailedBearer(incoming.ip)
    throw unauthenticated()
  }
  const caller = toTokenCaller(tokenCaller)
  requireAllowedAddress(caller, incoming)
  if (scope && !access.scopes.includes(scope))
    throw refuse('permission_denied', { permission: scope })
  return caller
}

function toTokenCaller(caller: TokenCaller): Caller {
  const { key, tokenId, mode, permissions, formerIssuers, isAllowedFrom, found, proven } = caller
  const authority = { id: caller.account.id, proof: () => tokenProof(caller), proven }
  return {
    kind: 'token',
    mode,
    permissions,
    account: { ...caller.account, authority, role: null, chargeReviewAbove: null },
    user: null,
    responsibleId: caller.issuedBy,
    formerIssuers,
    isViewing: false,
    key,
    tokenId,
    isAllowedFrom,
    found,
  }
}

/** Characters of a token that are stored and shown, and so not secret. */
const PREFIX_LENGTH = 20

export function readTokenPrefix({ header }: HttpRequest): string | undefined {
  return bearerOf(header('authorization'))?.slice(0, PREFIX_LENGTH)
}

function bearerOf(authorization: string | null): string | null {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

/** Accepts a session cookie only with the mode and account headers that the dashboard sends. */
async function readSessionCaller(incoming: HttpRequest): Promise<Caller | null> {
  const { header } = incoming
  const mode = MODES.find(known => known === header('troco-mode'))
  const accountId = header('troco-account')?.toLowerCase() ?? ''
  if (!mode || !isUuid(accountId)) return null
  const user = await readSignedInUser(incoming)
  const sessionAccount = user?.accounts.find(({ id }) => id === accountId)
  if (!user || !sessionAccount) return null
  const { name, city, expiresIn, chargeReviewAbove, status, role } = sessionAccount
  const isActive = isActiveAccount(status)
  const permissions = listPermissions(role)
  const authority = { id: accountId, lockMember: memberLock({ accountId, userId: user.id }, role) }
  const account = {
    id: accountId,
    authority,
    name,
    city,
    expiresIn,
    chargeReviewAbove,
    isActive,
    role,
    receivingConnectionId: connectionIn(mode, sessionAccount.receivingConnectionId),
    payingConnectionId: connectionIn(mode, sessionAccount.payingConnectionId),
  }
  const isViewing = user.viewing !== null
  const responsible = { responsibleId: user.id, formerIssuers: [], isViewing }
  const ofToken = { key: null, tokenId: null, isAllowedFrom: null }
  return { kind: 'session', mode, permissions, account, user, ...responsible, ...ofToken }
}

/** Reads do not extend the session, because open pages poll in the background. */
export async function readSignedInUser({
  method,
  header,
}: HttpRequest): Promise<SessionUser | null> {
  const secret = readCookie(header('cookie') ?? '', cookieNames().session)
  return secret === null ? null : readSession(secret, isWriteMethod(method))
}

export function isWriteMethod(method: string): boolean {
  return !['GET', 'HEAD'].includes(method)
}

/** Refuses a token that is used from elsewhere, before a response depends on anything else. */
export function requireAllowedAddress({ isAllowedFrom }: Caller, { ip }: HttpRequest): void {
  if (isAllowedFrom && !isAllowedFrom(ip)) throw refuse('address_not_allowed', { address: ip })
}

/** Checks address, status, mode and permissions; for a session also a write's origin and the proof. */
export function authorize(
  caller: Caller,
  incoming: HttpRequest,
  allow: AnyPermission | AnyPermission[],
  proof?: ProofRule,
): void {
  requireAllowedAddress(caller, incoming)
  const isWrite = isWriteMethod(incoming.method)
  const permissions = [allow].flat()
  const isAllowedInactive = isWrite ? permissions.some(isWriteAllowedInactive) : true
  if (!caller.account.isActive && !(caller.kind === 'session' && isAllowedInactive))
    throw accountNotActive()
  if (isWrite && caller.kind === 'session') requireSameOrigin(incoming)
  if (caller.kind === 'token' && permissions.every(isForPagesOnly)) throw refuse('session_required')
  const { receivingConnectionId, payingConnectionId } = caller.account
  const isOpen = (receivingConnectionId ?? payingConnectionId) !== null
  if (!isOpen && permissions.some(needsOpenMode)) throw refuse('live_mode_disabled')
  if (!receivingConnectionId && permissions.includes('transactions:write'))
    throw refuse('live_mode_disabled')
  if (!payingConnectionId && permissions.includes('withdrawals:write'))
    throw refuse('withdrawals_disabled')
  if (!permissions.some(permission => caller.permissions.includes(permission))) {
    const permission = permissions.join(' or ')
    throw refuse('permission_denied', { permission })
  }
  if (proof === 'required' && caller.user) requireProof(caller.user, caller.mode)
}

/**
 * Refuses staff that views an account whatever is no plain read, before any other check: each write,
 * each export, and each read that needs a proof because it shows a secret. The role of a viewer
 * refuses most of it, too, and `account.authority` finds no membership to lock.
 */
export function requireMoreThanViewing(
  { isViewing }: Caller,
  { method }: HttpRequest,
  { proof, isExport, isFile }: { proof?: ProofRule; isExport?: true; isFile?: true },
): void {
  if (isViewing && (isWriteMethod(method) || proof === 'required' || isExport || isFile))
    throw refuse('viewing_read_only')
}

export function documentAccess({ permissions, user }: Caller) {
  const readsPayers = permissions.includes('payers:read')
  return { readsPayers, showsDocuments: readsPayers && user === null }
}

export function accountNotActive(): TrocoError {
  return refuse('account_not_active')
}

export function unauthenticated(): TrocoError {
  return refuse('unauthenticated')
}

/** Waits of a request other than for its body: for a place, or for a request with the same key. */
const AGE_MAX_MS = 1_000

/**
 * Result of a check that may be outdated once the request has waited, because the caller decides how
 * long: by sending the body slowly. A request that did not wait is checked once.
 */
export class RecentCheck<Result> {
  readonly #check: () => Promise<Result>
  #last: { result: Result; checkedAt: number } | null = null

  constructor(check: () => Promise<Result>) {
    this.#check = check
  }

  /** Checks if that has not happened yet, or too long ago. To be awaited. */
  read(): Result | Promise<Result> {
    const isRecent = this.#last && performance.now() - this.#last.checkedAt <= AGE_MAX_MS
    return this.#last && isRecent ? this.#last.result : this.#readAgain()
  }

  async #readAgain(): Promise<Result> {
    const result = await this.#check()
    this.#last = { result, checkedAt: performance.now() }
    return result
  }

  /** Makes the next `read` check again. */
  expire(): void {
    this.#last = null
  }
}

/** Refuses a write from a page of another site, by Origin and, if present, Sec-Fetch-Site. */
export function requireSameOrigin({ header }: Pick<HttpRequest, 'header'>): void {
  const site = header('sec-fetch-site') ?? 'same-origin'
  if (site === 'same-origin' && isOwnOrigin(header('origin'))) return
  throw refuse('cross_origin')
}

/** The origin must be that of PUBLIC_URL. Request headers such as Host have no effect. */
function isOwnOrigin(origin: string | null): boolean {
  const originUrl = URL.parse(origin ?? '')
  const publicUrl = new URL(env().PUBLIC_URL)
  if (!originUrl) return false
  if (originUrl.origin === publicUrl.origin) return true
  // In local use, the browser may open this machine under any of its names and addresses.
  const hasSameProtocolAndPort =
    originUrl.protocol === publicUrl.protocol && originUrl.port === publicUrl.port
  return env().TROCO_ENV === 'local' && hasSameProtocolAndPort && isThisMachine(originUrl.hostname)
}

function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  if (!isIP(name)) return ['localhost', hostname().toLowerCase()].includes(name)
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? [])
  return name.startsWith('127.') || addresses.some(({ address }) => address === name)
}

interface Call {
  account: CallingAccount
  mode: Mode
  userId: string | null
  tokenId: string | null
  readsPayers: boolean
}

/**
 * Describes the caller to the operations on endpoints and deliveries: a member, whose role may change until
 * they commit, or a token, whose permissions never change but which may be revoked. An operation can only record
 * its action while it holds that authority until the commit.
 */
export function webhookOwner({ account, mode, userId, tokenId, readsPayers }: Call): Owner {
  const lockMember = permissionLock({ accountId: account.id, userId }, 'webhooks:write')
  const record = createAuditNote(account.id, userId, tokenId)
  const lockAuthority = async (tx: Tx) => {
    if (tokenId === null) return lockMember(tx)
    await tx.$queryRaw`
      SELECT t.id FROM tokens t
      WHERE t.account_id = ${account.id}::uuid AND t.id = ${tokenId}::uuid FOR SHARE`
    await tx.$queryRaw`SELECT ${accountSql(account.authority)}`
    return { readsPayers }
  }
  return {
    accountId: account.id,
    mode,
    readsPayers,
    isToken: tokenId !== null,
    lockAuthority,
    async note(tx, ...entry) {
      await lockAuthority(tx)
      await record(tx, ...entry)
    },
  }
}
