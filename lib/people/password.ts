import { argon2, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { networkOf, siteOf } from '#lib/core/addresses.ts'
import { invalidInput, refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { isEqual } from '#lib/core/keys.ts'
import { currentLogContext, log } from '#lib/core/log.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import { canSendMail, queueMail } from '#lib/mail/queue.ts'
import { noteReset } from '#lib/people/approvers.ts'
import {
  attemptChallenge,
  closeChallenge,
  closeChallengesOf,
  listFactors,
  openChallenge,
  readChallenge,
} from '#lib/people/factors.ts'
import {
  isPasswordLength,
  PASSWORD_MAX,
  PASSWORD_MIN,
  type PasswordChange,
  type ResetConfirmation,
  requireEmail,
} from '#lib/people/schema.ts'
import { endSessionsOf, requireActiveSession } from '#lib/people/sessions.ts'
import {
  countAttempt,
  endFactorDelay,
  requireWithinLimit,
  uncountAttempt,
} from '#lib/people/throttle.ts'
import { type AdmitPending, proveFromOutside } from '#lib/people/users.ts'

/** Costs of argon2id that OWASP recommends: 19 MiB, two passes. 20 ms on the smallest machine. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }
const SALT_BYTES = 16

const deriveNow = promisify(argon2)

/** Makes a random password (120 bits), to be shown once. */
export function makePassword(): string {
  return randomBytes(15).toString('base64url')
}

/** Counts a caller without a known device by network, so that no network fills the queue. */
export function unknownCaller(address: string | null): HashCaller {
  return { isKnown: false, key: address === null ? '' : (siteOf(address) ?? networkOf(address)) }
}

export function knownCaller(userId: string): HashCaller {
  return { isKnown: true, key: userId }
}

export async function hashPassword(
  password: string,
  caller: HashCaller = currentCaller(),
): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const tag = await derive({ ...COST, message: normalize(password), nonce }, caller)
  const { memory, passes, parallelism } = COST
  const parts = [nonce, tag].map(bytes => bytes.toString('base64').replace(/(?<!=)=+$/, ''))
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${parts.join('$')}`
}

const ENCODED_HASH = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/

/** Without a hash, takes as long as with one of today's cost. */
export async function verifyPassword(
  password: string,
  encoded: string | null,
  caller: HashCaller = currentCaller(),
): Promise<boolean> {
  const parts = ENCODED_HASH.exec(encoded ?? '')
  const [, memory, passes, parallelism, salt = '', tag = ''] = parts ?? []
  const expected = Buffer.from(tag, 'base64')
  const parameters = {
    message: normalize(password),
    nonce: parts ? Buffer.from(salt, 'base64') : Buffer.alloc(SALT_BYTES),
    memory: Number(memory ?? COST.memory),
    passes: Number(passes ?? COST.passes),
    parallelism: Number(parallelism ?? COST.parallelism),
    tagLength: expected.length || COST.tagLength,
  }
  const actual = await derive(parameters, caller)
  return parts !== null && isEqual(actual, expected)
}

function isHashOutdated(encoded: string): boolean {
  const { memory, passes, parallelism } = COST
  return !encoded.startsWith(`$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`)
}

function derive(parameters: Parameters<typeof deriveNow>[1], caller: HashCaller): Promise<Buffer> {
  return withHashPlace(caller, () => deriveNow('argon2id', parameters))
}

/** Outside of a request, as on the command line, every hash has a key of its own. */
function currentCaller(): HashCaller {
  const { ip } = currentLogContext()
  return ip ? unknownCaller(ip) : knownCaller(randomBytes(SALT_BYTES).toString('base64url'))
}

/** Unifies encodings (NFKC): keyboards may encode the same character differently. */
function normalize(password: string): string {
  return password.normalize('NFKC')
}

/**
 * Minimum estimated guesses. Online, 10 failures per 15 minutes allow 350,000 a year; offline, 100
 * million guesses at 40 ms each take 46 days of one core.
 */
const GUESSES_MIN = 1e8
/** Maximum characters that are estimated: more take longer and add no information. */
const ESTIMATED_LENGTH_MAX = 64
/** Minimum characters that a password must have besides words about its user. */
const OWN_CHARACTERS_MIN = 6

/** Common words in Brazilian passwords that the English list lacks, the most common first. */
const BRAZILIAN_WORDS =
  'senha mudar mudei brasil flamengo corinthians palmeiras saopaulo gremio internacional cruzeiro santos vasco botafogo minha nova teste usuario acesso entrar sistema empresa admin deus jesus amor familia teamo felicidade vitoria saudade dinheiro banco cobranca pagamento pix troco'.split(
    ' ',
  )
const WEAK_WORDS = ['troco', 'senha', 'password', 'pix', 'admin', 'mudar']

const EASY_MESSAGE =
  'is easy to guess: use four unrelated words, without names, e-mail addresses or dates'

interface PasswordOwner {
  email: string
  name?: string
}

export async function requireGoodPassword(password: string, owner: PasswordOwner): Promise<void> {
  if (!isPasswordLength(password)) {
    throw invalidInput('password', `must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters`)
  }
  const words = listWeakWords(owner)
  const estimated = password.normalize('NFKC').slice(0, ESTIMATED_LENGTH_MAX)
  const { guesses } = (await getEstimator()).check(estimated, words)
  if (guesses >= GUESSES_MIN && removeWords(password, words).length >= OWN_CHARACTERS_MIN) return
  throw invalidInput('password', EASY_MESSAGE)
}

let estimator: Promise<ZxcvbnFactory> | undefined

/** Loads the estimator on first use: it needs 11 MB, and most processes never use it. */
function getEstimator(): Promise<ZxcvbnFactory> {
  estimator ??= loadEstimator()
  return estimator
}

async function loadEstimator(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, common] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ])
  const { adjacencyGraphs: graphs, dictionary } = common
  return new ZxcvbnFactory({ graphs, dictionary: { ...dictionary, here: BRAZILIAN_WORDS } })
}

function listWeakWords({ email, name = '' }: PasswordOwner): string[] {
  const parts = foldAccents(`${email} ${name}`).split(/[^a-z0-9]+/)
  const words = [...WEAK_WORDS, ...parts.filter(part => part.length > 2)]
  return [...new Set(words)].sort((one, other) => other.length - one.length)
}

function removeWords(password: string, words: string[]): string {
  const ownCharacters = words.reduce(
    (remaining, word) => remaining.replaceAll(word, ' '),
    foldAccents(password),
  )
  // Years, digit sequences and punctuation do not count as own characters.
  return ownCharacters.replace(/\d{4,}/g, ' ').replace(/[\s\p{P}\p{S}]/gu, '')
}

function foldAccents(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()
}

/** Caller that waits for a hash. Known: a signed-in user or known device, by user; else by network. */
interface HashCaller {
  isKnown: boolean
  key: string
}

interface Group {
  /** Maximum concurrent hashes of the group. */
  runningMax: number
  waitingMax: number
  /** Maximum callers with the same key that wait. */
  waitingPerKeyMax: number
  waitMaxMs: number
}

/**
 * A hash takes 19 MiB and 20 ms on the smallest machine, up to 100 ms if that is busy. Unknown
 * callers get one of the two places, so that a known one waits for none of them. The queue holds
 * about as many as can be served before their users give up.
 */
const GROUPS: Record<'known' | 'unknown', Group> = {
  known: { runningMax: 2, waitingMax: 100, waitingPerKeyMax: 10, waitMaxMs: 5_000 },
  unknown: { runningMax: 1, waitingMax: 60, waitingPerKeyMax: 12, waitMaxMs: 5_000 },
}
/** Maximum concurrent hashes: Node's four threads also serve files, DNS and compression. */
const RUNNING_MAX = 2
const WARNING_INTERVAL_MS = 60_000

type GroupName = keyof typeof GROUPS

/** Waiting callers by key. The first key is the next to be served: one hash each in turn. */
type Waiting = Map<string, (() => void)[]>

interface HashQueue {
  running: Record<GroupName, number>
  waiting: Record<GroupName, Waiting>
  /** Whether the group of unknown callers rests. */
  isResting: boolean
  warnedAt: number
}

const queue = processWide<HashQueue>('hash-queue', () => ({
  running: { known: 0, unknown: 0 },
  waiting: { known: new Map(), unknown: new Map() },
  isResting: false,
  warnedAt: Number.NEGATIVE_INFINITY,
}))

/** Throws `service_unavailable` if the queue has no place for this caller, or after a long wait. */
export async function withHashPlace<T>(caller: HashCaller, work: () => Promise<T>): Promise<T> {
  const name = groupOf(caller)
  await takePlace(name, caller.key)
  const began = performance.now()
  try {
    return await work()
  } finally {
    queue.running[name] -= 1
    if (name === 'unknown') restUnknown(performance.now() - began)
    serveNext()
  }
}

/** Guesses must not keep a processor busy: after each hash, their group rests for as long as it took. */
function restUnknown(durationMs: number): void {
  queue.isResting = true
  const end = () => {
    queue.isResting = false
    serveNext()
  }
  setTimeout(end, durationMs).unref()
}

/** Throws `service_unavailable` if the queue is full, before the caller costs anything else. */
export function requireHashPlace(caller: HashCaller): void {
  const name = groupOf(caller)
  const waiting = queue.waiting[name]
  const { waitingMax, waitingPerKeyMax } = GROUPS[name]
  const isFull = countWaiting(waiting) >= waitingMax
  if (isFull || (waiting.get(caller.key)?.length ?? 0) >= waitingPerKeyMax) throw queueFull(name)
}

async function takePlace(name: GroupName, key: string): Promise<void> {
  const { running, waiting } = queue
  if (hasFreePlace(name) && waiting[name].size === 0) {
    running[name] += 1
    return
  }
  requireHashPlace({ isKnown: name === 'known', key })
  await new Promise<void>((resolve, reject) => {
    const start = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      removeWaiting(waiting[name], key, start)
      reject(queueFull(name))
    }, GROUPS[name].waitMaxMs)
    waiting[name].set(key, [...(waiting[name].get(key) ?? []), start])
  })
}

function serveNext(): void {
  const { running, waiting } = queue
  for (const name of ['known', 'unknown'] as const) {
    const [next] = waiting[name]
    if (!next || !hasFreePlace(name)) continue
    const [key, [start = () => {}]] = next
    removeWaiting(waiting[name], key, start)
    running[name] += 1
    start()
  }
}

/** Removes a caller; the next one with the same key moves behind all other keys. */
function removeWaiting(waiting: Waiting, key: string, start: () => void): void {
  const others = waiting.get(key)?.filter(other => other !== start) ?? []
  waiting.delete(key)
  if (others.length > 0) waiting.set(key, others)
}

function hasFreePlace(name: GroupName): boolean {
  const { running, isResting } = queue
  if (name === 'unknown' && isResting) return false
  return running[name] < GROUPS[name].runningMax && running.known + running.unknown < RUNNING_MAX
}

function countWaiting(waiting: Waiting): number {
  return [...waiting.values()].reduce((sum, callers) => sum + callers.length, 0)
}

function groupOf({ isKnown }: HashCaller): GroupName {
  return isKnown ? 'known' : 'unknown'
}

function queueFull(group: GroupName) {
  if (performance.now() - queue.warnedAt > WARNING_INTERVAL_MS) {
    queue.warnedAt = performance.now()
    log().warn({ group }, 'password queue is full')
  }
  return refuse('service_unavailable')
}

interface SignedInOwner extends PasswordOwner {
  id: string
  sessionId: string
}

/** Verifies the current password, and ends the user's other sessions. */
export async function changePassword(user: SignedInOwner, change: PasswordChange): Promise<void> {
  // Throttle first: estimating the strength of a password blocks the event loop.
  await requireWithinLimit([['person', user.id]])
  await requireGoodPassword(change.password, user)
  const { passwordHash: currentHash } = await db().user.findUniqueOrThrow({
    where: { id: user.id },
  })
  const caller = knownCaller(user.id)
  if (currentHash !== null && !(await verifyPassword(change.current ?? '', currentHash, caller))) {
    throw invalidInput('current', 'does not match your password: enter it again')
  }
  await uncountAttempt([['person', user.id]])
  const hash = await hashPassword(change.password, caller)
  await transaction(async tx => {
    // Of two concurrent changes only the first matches the old hash.
    const { count } = await tx.user.updateMany({
      where: { id: user.id, passwordHash: currentHash },
      data: { passwordHash: hash, passwordChangedAt: new Date() },
    })
    if (count === 0) throw invalidInput('current', 'has just been changed: enter the new password')
    await requireActiveSession(tx, user.sessionId)
    await endSessionsOf(tx, user.id, user.sessionId)
    await finishPasswordChange(tx, user.id, 'user.password_changed')
  })
}

/** Ends pending sign-ins and resets, audits the change and mails the user. */
async function finishPasswordChange(tx: Tx, userId: string, action: string): Promise<void> {
  await closeChallengesOf(tx, userId)
  await endFactorDelay(tx, userId)
  await recordAudit(tx, { actor: { type: 'user', id: userId }, action, target: userId })
  const user = await tx.user.findUniqueOrThrow({ where: { id: userId } })
  const ip = currentLogContext().ip ?? null
  await queueMail(tx, user, { kind: 'passwordChanged', at: new Date(), ip })
}

/** Rehashes a password whose hash has outdated costs, unless the password changed meanwhile. */
export async function rehashIfOutdated(
  { id, passwordHash }: { id: string; passwordHash: string | null },
  password: string,
): Promise<void> {
  if (passwordHash === null || !isHashOutdated(passwordHash)) return
  const data = { passwordHash: await hashPassword(password, knownCaller(id)) }
  await db().user.updateMany({ where: { id, passwordHash }, data })
}

export async function hasPassword(userId: string): Promise<boolean> {
  const user = await db().user.findUniqueOrThrow({ where: { id: userId } })
  return user.passwordHash !== null
}

/** Minimum response time, longer than the work: time must not reveal a registered e-mail. */
const RESPONSE_MIN_MS = 300
/** Value of the challenge of a link that the operator passes on; a mailed link has none. */
const OPERATOR_LINK = 'operator'

/** An unknown e-mail gets the same response and time; only too many requests from one IP fail. */
export async function requestReset(text: string, address: string): Promise<void> {
  const email = requireEmail(text)
  await requireWithinLimit([['reset_address', address]])
  const [mailing] = await Promise.allSettled([sendResetLink(email), sleep(RESPONSE_MIN_MS)])
  if (mailing.status === 'rejected') throw mailing.reason
}

async function sendResetLink(email: string): Promise<void> {
  if ((await countAttempt([['reset', email]])) !== null || !canSendMail()) return
  const user = await db().user.findUnique({ where: { email } })
  if (!user || user.disabledAt) return
  const path = await createResetPath(user.id)
  await transaction(tx => queueMail(tx, user, { kind: 'passwordReset', path }))
}

/** Returns the path of a link for the operator to pass on. The audit log records the creator. */
export async function createResetLink(text: string, actor: Actor): Promise<string> {
  const user = await db().user.findUnique({ where: { email: requireEmail(text) } })
  if (!user) throw invalidInput('email', 'does not belong to a user')
  if (user.disabledAt) throw invalidInput('email', 'belongs to a disabled user')
  const path = await createResetPath(user.id, OPERATOR_LINK)
  const action = 'user.reset_link_made'
  await transaction(async tx => {
    await noteReset(tx, user.id, actor)
    await recordAudit(tx, { actor, action, target: user.id })
  })
  return path
}

/** Returns the path of a reset page that works once, within an hour. */
export async function createResetPath(userId: string, value?: string, tx?: Tx): Promise<string> {
  return `/reset/${await openChallenge('password_reset', { userId, value }, tx)}`
}

/** Returns the e-mail of the user of a reset link; null if the link was used or has expired. */
export async function findResetEmail(secret: string): Promise<string | null> {
  const { userId } = (await readChallenge('password_reset', secret)) ?? {}
  const user = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  return user && !user.disabledAt ? user.email : null
}

/**
 * Stores the new password and ends every session. Second factors remain required, unless the link is
 * the first proof of the address of a user who is no admin. Returns the user.
 */
export async function confirmReset(
  { secret, password }: ResetConfirmation,
  admitPending: AdmitPending,
): Promise<string> {
  const { userId, value } = (await attemptChallenge('password_reset', secret)) ?? {}
  const user = userId ? await db().user.findUnique({ where: { id: userId } }) : null
  if (!user || user.disabledAt) throw linkExpired()
  await requireGoodPassword(password, user)
  const passwordHash = await hashPassword(password, knownCaller(user.id))
  await transaction(async tx => {
    if (!(await closeChallenge(secret, tx))) throw linkExpired()
    const by = value === OPERATOR_LINK ? 'operator' : 'reset'
    await proveFromOutside(tx, user.id, by, admitPending)
    const isByOperator = value === OPERATOR_LINK
    const data = {
      passwordHash,
      passwordChangedAt: new Date(),
      ...(isByOperator && { resetAt: new Date() }),
    }
    await tx.user.update({ where: { id: user.id }, data })
    await endSessionsOf(tx, user.id)
    await finishPasswordChange(tx, user.id, 'user.password_reset')
  })
  return user.id
}

function linkExpired(): TrocoError {
  return refuse('link_expired')
}

/**
 * Mails the user a link for a new password, which staff never sees. The password changes only when
 * the user opens it: docs/decisions/022.
 */
export async function mailResetLink(userId: string, reason: string, actor: Actor): Promise<void> {
  if (!canSendMail())
    throw refuse('not_supported', 'There is no mail server: `user reset` prints a link')
  await transaction(async tx => {
    const user = await lockResettable(tx, userId)
    const path = await createResetPath(user.id, undefined, tx)
    await noteReset(tx, user.id, actor)
    const action = 'user.reset_link_mailed'
    await recordAudit(tx, { actor, action, target: user.id, reason })
    await queueMail(tx, user, { kind: 'passwordResetByStaff', path, reason })
  })
}

/**
 * Removes every second factor, ends all sessions and pending sign-ins, and mails the user. The
 * password stays required. Returns false if there is no second factor, as in a second call.
 */
export function resetSecondFactor(userId: string, reason: string, actor: Actor): Promise<boolean> {
  return transaction(async tx => {
    const user = await lockResettable(tx, userId)
    const factors = await listFactors(user.id, tx)
    if (factors.length === 0) return false
    await tx.authenticator.deleteMany({ where: { userId } })
    await tx.passkey.deleteMany({ where: { userId } })
    await tx.recoveryCode.deleteMany({ where: { userId } })
    await endSessionsOf(tx, userId)
    // A link for a new password stays valid: a person who lost both needs both.
    await tx.challenge.deleteMany({ where: { userId, kind: { not: 'password_reset' } } })
    await tx.user.update({ where: { id: userId }, data: { devicesEndedAt: new Date() } })
    await noteReset(tx, userId, actor)
    const action = 'user.second_factor_reset'
    await recordAudit(tx, { actor, action, target: userId, reason, before: { factors } })
    await queueMail(tx, user, { kind: 'secondFactorReset', at: new Date(), reason })
    return true
  })
}

/** Locks the user against sign-ins. Admins are refused: one of them alone must not open another's way in. */
async function lockResettable(tx: Tx, userId: string) {
  if (!isUuid(userId)) throw refuse('user_not_found')
  await tx.$queryRaw`SELECT FROM users WHERE id = ${userId}::uuid FOR UPDATE`
  const user = await tx.user.findUnique({ where: { id: userId } })
  if (!user) throw refuse('user_not_found')
  if (user.isAdmin) throw refuse('admin_reset_refused')
  if (user.disabledAt) throw refuse('not_supported', 'This user is disabled')
  return user
}
