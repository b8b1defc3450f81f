import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { findCredentialsFlaw } from '#lib/banks/api-pix/credentials.ts'
import {
  type BankFinding,
  CONNECTION_COLUMNS,
  type Connection,
  FINDINGS,
  find,
  findingLevelOf,
  type Gateway,
  type GatewayResult,
} from '#lib/banks/gateway.ts'
import { noticeAddressPrefix, readNoticeAddress } from '#lib/banks/notice-address.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import {
  type BankRequest,
  ConnectionLimits,
  type ConnectionLine,
  type ConnectionState,
  type CredentialsRequest,
  NewConnection,
} from '#lib/banks/schema.ts'
import {
  expireBanks,
  findFlaw,
  findPrivateAddress,
  gatewayOfConnection,
  listBanks,
  tryToOpen,
} from '#lib/banks/served.ts'
import { invalidInput, isTrocoError, refuse } from '#lib/core/errors.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { seal } from '#lib/core/keys.ts'
import { cents } from '#lib/core/money.ts'
import { maskPixKey, readDictKey } from '#lib/core/pix/pix-key.ts'
import { db, type Prisma, type Tx, transaction } from '#lib/db/client.ts'

/** Result of a check that passed; any other is what the bank refused. */
export const CHECK_PASSED = 'ok'

type Row = Omit<ConnectionLine, 'state'> & { isClosed: boolean }

/** Lists the connections to banks by name. */
export async function listConnections(): Promise<ConnectionLine[]> {
  const rows = await db().$queryRaw<Row[]>`
    SELECT n.id, n.name, n.kind, n.environment, n.check_code AS "checkCode",
      cardinality(n.receiving_keys) > 0 AS receives, n.paying_key IS NOT NULL AS pays,
      json_build_object('payout_max', n.payout_max, 'payout_day_max', n.payout_day_max) AS limits,
      n.disabled_at IS NOT NULL AS "isClosed", (SELECT count(*)::int FROM accounts a
        WHERE n.id IN (a.receiving_connection_id, a.paying_connection_id)) AS accounts
    FROM connections n WHERE n.kind <> 'simulator' ORDER BY n.name`
  return Promise.all(
    rows.map(async ({ isClosed, ...row }) => ({ ...row, state: await stateOf(row, isClosed) })),
  )
}

async function stateOf(
  { id, checkCode }: Pick<Row, 'id' | 'checkCode'>,
  isClosed: boolean,
): Promise<ConnectionState> {
  if (isClosed) return 'closed'
  if ((await findFlaw(id)) !== null) return 'unserved'
  if (checkCode === null) return 'unchecked'
  return checkCode === CHECK_PASSED ? 'passed' : 'failed'
}

/** Finds a connection to a bank by its id or name. */
export async function findConnection(idOrName: string): Promise<{ id: string; name: string }> {
  const key = isUuid(idOrName) ? { id: idOrName } : { name: idOrName }
  const where = { ...key, kind: { not: 'simulator' } }
  const found = await db().connection.findFirst({ where, select: { id: true, name: true } })
  if (found) return found
  throw refuse('not_found', `No connection found for ${idOrName}: see \`bank list\``)
}

/** Keeps accounts from being assigned to it until the commit. Returns its name. */
export async function lockActiveConnection(tx: Tx, id: string): Promise<string> {
  const [row] = await tx.$queryRaw<{ name: string; isClosed: boolean }[]>`
    SELECT name, disabled_at IS NOT NULL AS "isClosed" FROM connections
    WHERE id = ${id}::uuid FOR UPDATE`
  if (!row) throw refuse('connection_not_found')
  if (row.isClosed) throw refuse('already_final', { subject: row.name, status: 'closed' })
  return row.name
}

/** No account may be assigned to it any more. */
export async function markClosed(tx: Tx, id: string): Promise<void> {
  const data = { disabledAt: new Date(), isAssignable: false }
  await tx.connection.update({ where: { id }, data })
}

export async function readConnectionNames(
  tx: Tx,
  ids: (string | null)[],
): Promise<Map<string, string>> {
  const known = ids.filter(id => id !== null)
  const select = { id: true, name: true } as const
  const rows = await tx.connection.findMany({ where: { id: { in: known } }, select })
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/**
 * Sets the given limits of a connection, effective from the next withdrawal. A withdrawal that is
 * being created locks the row, so that it sees either the old limits or the new ones. Returns all.
 */
export async function limitConnection(
  id: string,
  change: Partial<ConnectionLimits>,
  actor: Actor,
): Promise<ConnectionLimits> {
  const { success, data: given, error } = ConnectionLimits.partial().safeParse(change)
  if (!success) {
    const [issue] = error.issues
    throw invalidInput(String(issue?.path[0]), issue?.message ?? 'is invalid')
  }
  return transaction(async tx => {
    const [row] = await tx.$queryRaw<Record<keyof ConnectionLimits, bigint | null>[]>`
      SELECT payout_max, payout_day_max FROM connections WHERE id = ${id}::uuid FOR NO KEY UPDATE`
    if (!row) throw refuse('connection_not_found')
    const old = Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, value === null ? null : cents(value)]),
    ) as ConnectionLimits
    const limits = { ...old, ...given }
    const names = (Object.keys(limits) as (keyof ConnectionLimits)[]).filter(
      name => limits[name] !== old[name],
    )
    if (names.length === 0) return limits
    const { payout_max: payoutMax, payout_day_max: payoutDayMax } = limits
    await tx.connection.update({ where: { id }, data: { payoutMax, payoutDayMax } })
    const [before, after] = [old, limits].map(values =>
      Object.fromEntries(names.map(name => [name, values[name]])),
    )
    await recordAudit(tx, { actor, action: 'connection.limited', target: id, before, after })
    return limits
  })
}

/**
 * SQL for the connections that an account `a` may use in live mode: assigned, and the last check
 * passed. The foreign keys allow only connections for production that are not closed.
 */
export const receivingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.receiving_connection_id AND n.check_code = 'ok')`
export const payingConnectionSql = `(SELECT n.id FROM connections n
  WHERE n.id = a.paying_connection_id AND n.check_code = 'ok' AND n.paying_key IS NOT NULL)`

/** Days before the end of a client certificate at which staff is warned. Banks need days to issue one. */
const WARNING_DAYS = [1, 7, 30] as const
const DAY_MS = 86_400_000

export interface EndingCertificate {
  id: string
  name: string
  endsAt: Date
  /** Warning that is due: the smallest number of days that is not yet reached. */
  days: (typeof WARNING_DAYS)[number]
  /** Whether accounts can use the connection. */
  isAssignable: boolean
}

/** Lists the certificates of open connections that end within 30 days, or have ended. */
export async function listEndingCertificates(now = Date.now()): Promise<EndingCertificate[]> {
  return (await listBanks()).flatMap(({ connection, gateway, isAssignable, isClosed }) => {
    const endsAt = gateway?.certificateEndsAt
    if (!endsAt || isClosed) return []
    const leftMs = endsAt.getTime() - now
    const days = WARNING_DAYS.find(each => leftMs <= each * DAY_MS)
    const { id, name } = connection
    return days === undefined ? [] : [{ id, name, endsAt, days, isAssignable }]
  })
}

/** Marks a warning as given. Returns false if it was before, or a more urgent one. */
export async function claimCertificateWarning(
  tx: Tx,
  { id, endsAt, days }: Pick<EndingCertificate, 'id' | 'endsAt' | 'days'>,
): Promise<boolean> {
  const claimed = await tx.$executeRaw`
    UPDATE connections SET certificate_warned_until = ${endsAt}, certificate_warned_days = ${days}
    WHERE id = ${id}::uuid AND disabled_at IS NULL
      AND (certificate_warned_until IS DISTINCT FROM ${endsAt}::timestamptz
        OR certificate_warned_days > ${days})`
  return claimed > 0
}

/** Informs others of a new connection. */
type Announce = (tx: Tx, connection: { id: string; name: string }) => Promise<void>

/**
 * Adds a connection to a bank; refuses one that its adapter cannot open. It serves no account before its
 * check has passed. `announce` runs in the transaction. Returns its id.
 */
export async function addConnection(
  request: NewConnection,
  actor: Actor,
  announce?: Announce,
): Promise<string> {
  const connection = parse(request)
  const { name, kind, environment, profile = null, settings, credentials } = connection
  const receiving = connection.receiving_keys.map(key => readKey('receiving_keys', key))
  const paying = connection.paying_key && readKey('paying_key', connection.paying_key)
  if (receiving.length === 0 && !paying)
    throw invalidInput('receiving_keys', 'must have a key, unless there is a paying_key')
  if (paying && kind === 'api_pix')
    throw invalidInput('paying_key', 'must be absent: API Pix has no payouts')
  const address = findPrivateAddress(settings as Prisma.JsonObject)
  if (address !== null)
    throw invalidInput(
      'settings',
      `must not lead to ${address}, unless BANK_ALLOW_CIDRS contains it`,
    )
  const id = newId()
  const receivingKeys = receiving.map(({ key }) => key)
  const payingKey = paying ? paying.key : null
  const keys = { receivingKeys, payingKey }
  const details = { settings: settings as Prisma.JsonObject, credentials: credentials ?? null }
  tryToOpen({ id, name, kind, environment, profile, ...details, ...keys })
  const sealedCredentials = credentials ? seal(credentials, id, 'bank-credentials') : null
  await transaction(async tx => {
    const row = {
      id,
      name,
      kind,
      environment,
      profile,
      sealedCredentials,
      settings: settings as Prisma.InputJsonObject,
      isAssignable: environment === 'production',
      ...keys,
    }
    const { count } = await tx.connection.createMany({ data: row, skipDuplicates: true })
    if (count === 0) throw invalidInput('name', 'already belongs to another connection')
    await requireFreeKeys(tx, id)
    const after = {
      name,
      kind,
      environment,
      profile,
      receiving_keys: receiving.map(({ masked }) => masked),
      paying_key: paying ? paying.masked : null,
    }
    await recordAudit(tx, { actor, action: 'connection.added', target: id, after })
    await announce?.(tx, { id, name })
  })
  return id
}

/** A PIX key belongs to one bank account, and two connections to it would read the same payments. */
async function requireFreeKeys(tx: Tx, id: string): Promise<void> {
  // Two connections that are added at the same time would not see each other: the second waits here for the first.
  await tx.$queryRaw`SELECT pg_advisory_xact_lock(hashtextextended('connection keys', 0))::text`
  const [other] = await tx.$queryRaw<{ name: string }[]>`
    SELECT o.name FROM connections n
    JOIN connections o ON o.environment = n.environment AND o.receiving_keys && n.receiving_keys
    WHERE n.id = ${id}::uuid AND o.id <> n.id AND o.disabled_at IS NULL LIMIT 1`
  if (!other) return
  const rule = `must not have a key of the connection ${other.name}, which is open`
  const advice = 'use another key, `bank renew` for new credentials, or `bank close` before'
  throw invalidInput('receiving_keys', `${rule}: ${advice}`)
}

function parse(request: NewConnection) {
  const parsed = NewConnection.safeParse(request)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalidInput(String(issue?.path[0] ?? 'connection'), issue?.message ?? 'is invalid')
}

/** Returns the key in the form of the bank's key directory. */
function readKey(field: string, typed: string): { key: string; masked: string } {
  const read = readDictKey(typed)
  if (!read) throw invalidInput(field, 'must be a PIX key')
  return { key: read.key, masked: maskPixKey(read.type, read.key) }
}

/** Returns the text of the credentials that the adapter reads. Refuses them by the field to change. */
export function credentialsOf(request: CredentialsRequest): string {
  const { client_id, client_secret, app_key, certificate, private_key, p12, passphrase } = request
  const identity = { certificate, private_key, p12, passphrase }
  const credentials = JSON.stringify({ client_id, client_secret, app_key, ...identity })
  const flaw = findCredentialsFlaw(credentials)
  if (flaw) throw invalidInput(flaw.field, flaw.rule)
  return credentials
}

/** Adds the connection of a form, whose fields have other names than the settings of an adapter. */
export async function addRequested(
  request: BankRequest,
  actor: Actor,
  announce: Announce,
): Promise<string> {
  const { name, kind, environment, profile, receiving_keys, paying_key } = request
  const { api_url, token_url, trusted_certificates, payouts_in_flight } = request
  const settings = { api_url, token_url, trusted_certificates, payouts_in_flight }
  const connection = {
    name,
    kind,
    environment,
    profile,
    receiving_keys,
    paying_key,
    settings: JSON.parse(JSON.stringify(settings)),
    credentials: credentialsOf(request),
  }
  try {
    return await addConnection(connection, actor, announce)
  } catch (error) {
    const [rule] = (isTrocoError(error) && error.fields?.settings) || []
    // All other settings were validated before: the fault is an address.
    throw rule === undefined ? error : invalidInput('api_url', rule.replace(/^settings /, ''))
  }
}

/** Time for all calls of a check: an operator waits. */
const CHECK_MAX_MS = 30_000
/** Time after which the calls that are left end without a response, so that the findings are complete. */
const CALLS_MAX_MS = 25_000

export interface CheckResult {
  /** `ok`, or how the bank refused; null if it gave no answer. */
  code: string | null
  findings: BankFinding[]
}

/**
 * Asks the bank whether the connection works, and stores its answer: accounts may use a connection
 * that passed. Without an answer, the result of the check before stays, so that a bank that is down
 * for a moment closes no account's live mode. If the credentials were replaced meanwhile, the new ones
 * are checked: the old ones close nothing.
 */
export async function checkConnection(id: string, actor: Actor): Promise<CheckResult> {
  // Another process may have renewed the credentials: a check of the old ones would close live mode.
  expireBanks()
  const checked = await db().connection.findUnique({
    where: { id },
    select: { sealedCredentials: true },
  })
  const gateway = await gatewayOfConnection(id)
  const { result, findings } = await examineConnection(id, gateway)
  const code = codeOf(result)
  if (code === null) return { code, findings }
  const isCurrent = await transaction(async tx => {
    const data = { checkedAt: new Date(), checkCode: code }
    const { count } = await tx.connection.updateMany({ where: { id, ...checked }, data })
    if (count === 0) return false
    await recordAudit(tx, { actor, action: 'connection.checked', target: id, after: { code } })
    return true
  })
  return isCurrent ? { code, findings } : checkConnection(id, actor)
}

/** Returns what is stored of a result; null: nothing, the bank gave no answer. */
function codeOf({ outcome }: GatewayResult<null>): string | null {
  if (outcome === 'retryable' || outcome === 'unknown') return null
  return outcome === 'ok' ? CHECK_PASSED : outcome
}

/** Examines a connection and stores nothing. An adapter without a diagnosis is asked for its health only. */
async function examineConnection(
  id: string,
  gateway: Gateway,
  { isCandidate = false }: { isCandidate?: boolean } = {},
): Promise<{ result: GatewayResult<null>; findings: BankFinding[] }> {
  const options = { timeoutMs: CHECK_MAX_MS, isCandidate }
  const { checkHealth } = withConnectionJournal({ id, gateway }, options)
  const { diagnose } = gateway
  if (!diagnose) {
    const result = await checkHealth()
    return { result, findings: [describeHealth(result)] }
  }
  const noticesAt = { current: await readNoticeAddress(id), prefix: noticeAddressPrefix(id) }
  let findings: BankFinding[] = []
  const result = await checkHealth(async signal => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(CALLS_MAX_MS)])
    findings = await diagnose.call(gateway, noticesAt, limited)
    return judgeFindings(findings)
  })
  return { result, findings: findings.length > 0 ? findings : [describeHealth(result)] }
}

/** Judges a whole check: by its first problem, else by the first question without an answer. */
function judgeFindings(findings: BankFinding[]): GatewayResult<null> {
  for (const finding of findings) {
    const found = FINDINGS[finding.code]
    if (found.level !== 'problem') continue
    return { outcome: 'blocked', code: found.block, reason: reasonOf(finding) }
  }
  const silent = findings.find(finding => findingLevelOf(finding) === 'unanswered')
  if (silent) return { outcome: 'retryable', reason: reasonOf(silent) }
  return { outcome: 'ok', value: null }
}

function reasonOf({ code, params }: BankFinding): string {
  return String(params.reason || code)
}

/** Describes the health of a bank whose adapter has no diagnosis. */
function describeHealth(result: GatewayResult<null>): BankFinding {
  if (result.outcome === 'ok') return find('bank_answers')
  const reason = ('reason' in result ? result.reason : result.bankText) ?? ''
  const isFinal = result.outcome === 'blocked' || result.outcome === 'rejected'
  return find(isFinal ? 'bank_refuses' : 'bank_silent', { reason })
}

/**
 * Changes the settings at the bank that accept payments without a charge, and returns them. Null: the
 * bank has none that Troco knows. Called twice, the second call changes nothing.
 */
export async function correctSettings(
  id: string,
  actor: Actor,
): Promise<GatewayResult<string[]> | null> {
  const gateway = await gatewayOfConnection(id)
  const { checkSettings } = withConnectionJournal({ id, gateway })
  if (!checkSettings) return null
  const result = await checkSettings(true)
  if (result.outcome !== 'ok' || result.value.length === 0) return result
  const after = { settings: result.value }
  await recordAudit(db(), { actor, action: 'connection.corrected', target: id, after })
  return result
}

/**
 * Replaces the credentials of a connection, such as a certificate that expires, if a check with the new
 * ones passes; else nothing changes. Live mode stays open, and what began there goes on with the new
 * credentials, in each process within seconds.
 */
export async function renewCredentials(
  id: string,
  credentials: string,
  actor: Actor,
): Promise<CheckResult> {
  const row = await db().connection.findFirst({
    where: { id, kind: { not: 'simulator' } },
    select: CONNECTION_COLUMNS,
  })
  if (!row) throw refuse('connection_not_found')
  const connection = { ...row, id, credentials } as Connection
  const gateway = tryToOpen(connection)
  if (!gateway) throw refuse('service_unavailable')
  const { result, findings } = await examineConnection(id, gateway, { isCandidate: true })
  const code = codeOf(result)
  if (code !== CHECK_PASSED) return { code, findings }
  const sealedCredentials = seal(credentials, id, 'bank-credentials')
  await transaction(async tx => {
    await tx.connection.update({ where: { id }, data: { sealedCredentials } })
    // The database has forgotten the check of the credentials before.
    const data = { checkedAt: new Date(), checkCode: code }
    await tx.connection.update({ where: { id }, data })
    await recordAudit(tx, { actor, action: 'connection.renewed', target: id, after: { code } })
  })
  expireBanks()
  return { code, findings }
}
