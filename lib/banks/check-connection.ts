import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { tryToOpen } from '#lib/banks/adapters.ts'
import { CONNECTION_COLUMNS, type Connection } from '#lib/banks/connection.ts'
import { CHECK_PASSED } from '#lib/banks/connections.ts'
import type { Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import { type BankFinding, FINDINGS, find, levelOf } from '#lib/banks/gateway.ts'
import { noticeAddressPrefix, readNoticeAddress } from '#lib/banks/notice-address.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { expireBanks, gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { seal } from '#lib/core/keys.ts'
import { db, transaction } from '#lib/db/client.ts'

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
  const silent = findings.find(finding => levelOf(finding) === 'unanswered')
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
 * Changes those settings at the bank that let in payments of no charge, and returns them. Null: the
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
