import { type BankCall, BankClient } from '#lib/banks/api-pix/client.ts'
import { examineCertificate, examineServer } from '#lib/banks/api-pix/credentials.ts'
import {
  bodyOf,
  fieldsOf,
  isStatusOk,
  isSuccess,
  type Reply,
  textOf,
} from '#lib/banks/api-pix/json.ts'
import { judge } from '#lib/banks/api-pix/outcomes.ts'
import { checkList } from '#lib/banks/api-pix/payments.ts'
import {
  type BankFinding,
  type FindingCode,
  find,
  findingLevelOf,
  type NoticeAddress,
} from '#lib/banks/gateway.ts'
import { dropScheme, hostOfAddress } from '#lib/banks/notice-address.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'

/** The adapter counts a charge's expiry by its own clock if the bank's differs by more. */
const CLOCK_DIFFERS_MS = 60_000

interface Diagnosed {
  client: BankClient
  /** Keys about whose payments the bank should send notices. */
  keys: readonly string[]
  /** Where the bank should send notices. */
  noticesAt: NoticeAddress
  /** Whether the connection receives: else charges and refunds are not examined. */
  receives: boolean
  /** Examines what only this bank has, with a client that has a token. */
  examineMore?: (client: BankClient, signal: AbortSignal) => Promise<BankFinding[]>
}

/** How a bank refuses a certificate: no news about one that is not valid now. */
const REFUSED_CERTIFICATE = ['certificate_refused', 'certificate_dropped']

/** Examines everything that live mode needs of a bank. */
export async function diagnose(bank: Diagnosed, signal: AbortSignal): Promise<BankFinding[]> {
  const [certificate, ...others] = await examine(bank, signal)
  const isInvalid = certificate && findingLevelOf(certificate) === 'problem'
  const isNews = ({ code }: BankFinding) => !isInvalid || !REFUSED_CERTIFICATE.includes(code)
  return [...(certificate ? [certificate] : []), ...others.filter(isNews)]
}

/** Ends early where the rest could only fail, and says so. The first finding is about the own certificate. */
async function examine(bank: Diagnosed, signal: AbortSignal): Promise<BankFinding[]> {
  const { identity } = bank.client.options.credentials
  const certificate = examineCertificate(identity)
  const servers = await examineServers(bank.client, signal)
  const findings = [certificate, ...servers]
  if (servers.some(finding => findingLevelOf(finding) !== 'ok'))
    return [...findings, find('token_untried')]
  const { client, missing, ...token } = await examineToken(bank.client, signal)
  findings.push(...token.findings)
  if (!client) return [...findings, find('calls_untried')]
  findings.push(...examineClock(client))
  const isGranted = (scope: string) => !missing.includes(scope)
  if (bank.receives) {
    for (const use of PAYMENT_SCOPES)
      if (isGranted(use.scope)) findings.push(await examineScope(client, use, signal))
    if (isGranted('pix.read')) findings.push(...(await examineList(client, signal)))
  }
  findings.push(...((await bank.examineMore?.(client, signal)) ?? []))
  if (isGranted('webhook.read'))
    findings.push(...(await examineNotices({ ...bank, client }, signal)))
  if (isGranted(WEBHOOK_WRITE.scope)) {
    const finding = await examineScope(client, WEBHOOK_WRITE, signal)
    findings.push(withoutProblem(finding, 'scope_missing_for_notices'))
  }
  return findings
}

async function examineServers(
  { options }: BankClient,
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const { tokenUrl, apiUrl, credentials } = options
  const servers = new Map([tokenUrl, apiUrl].map(text => [new URL(text).host, new URL(text)]))
  const { identity } = credentials
  return Promise.all(
    [...servers.values()].map(url => examineServer(url, { ...options, identity }, signal)),
  )
}

interface Grant {
  findings: BankFinding[]
  /** Has a token for the granted scopes; null: there is none. */
  client: BankClient | null
  /** Scopes that the bank grants to no token. */
  missing: string[]
}

/** If a bank refuses the scopes of the token, asks for each one, and goes on with those that it grants. */
async function examineToken(client: BankClient, signal: AbortSignal): Promise<Grant> {
  const { profile } = client.options
  const reply = await client.tryToken(profile.scopes, signal)
  if (hasToken(reply)) return { client, missing: [], findings: [find('token_issued')] }
  const missing: string[] = []
  if (isAboutScopes(reply)) {
    for (const scope of profile.scopes)
      if (isAboutScopes(await client.tryToken([scope], signal))) missing.push(scope)
  }
  const scopes = profile.scopes.filter(scope => !missing.includes(scope))
  if (missing.length === 0 || scopes.length === 0)
    return { client: null, missing, findings: [judgeToken(reply)] }
  const granted = new BankClient({ ...client.options, profile: { ...profile, scopes } })
  const reason = reasonOf(reply)
  return {
    client: granted,
    missing,
    findings: missing.map(scope => find('scope_missing', { scope, reason })),
  }
}

function hasToken(reply: Reply): boolean {
  return isSuccess(reply) && textOf(fieldsOf(bodyOf(reply)).access_token) !== null
}

function isAboutScopes(reply: Reply): boolean {
  const verdict = isSuccess(reply) ? null : judge(reply, 'question')
  return verdict?.outcome === 'blocked' && verdict.code === 'scope'
}

function reasonOf(reply: Reply): string {
  const verdict = judge(reply, 'question')
  return 'reason' in verdict ? verdict.reason : 'no token'
}

function judgeToken(reply: Reply): BankFinding {
  const verdict = judge(reply, 'question')
  const reason = reasonOf(reply)
  // Some servers send no alert about a certificate: they close the connection after the handshake.
  if (reply.kind === 'failure' && /^(ECONNRESET|EPIPE)$/.test(reply.code))
    return find('certificate_dropped', { reason })
  if (verdict.outcome !== 'blocked') return find('token_unanswered', { reason })
  const isCertificate = verdict.code === 'certificate'
  return find(isCertificate ? 'certificate_refused' : 'token_refused', { reason })
}

function examineClock({ clockAheadMs }: BankClient): BankFinding[] {
  if (clockAheadMs === null) return []
  const seconds = Math.round(clockAheadMs / 1_000)
  const differs = Math.abs(clockAheadMs) > CLOCK_DIFFERS_MS
  return [find(differs ? 'clock_differs' : 'clock_agrees', { seconds })]
}

/** Uses the scope `pix.read`, too. */
async function examineList(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const list = await checkList({ client, profile: client.options.profile }, signal)
  const scope = 'pix.read'
  if (list.outcome === 'ok') return [find('scope_used', { scope }), find('payments_listed')]
  const reason = ('reason' in list ? list.reason : list.bankText) ?? ''
  if (list.outcome === 'blocked' && list.code === 'scope')
    return [find('scope_missing', { scope, reason })]
  const isFinal = list.outcome === 'blocked' || list.outcome === 'rejected'
  return [find(isFinal ? 'payments_refused' : 'payments_unanswered', { reason })]
}

/** Reads the address of each key, which uses `webhook.read`. Troco finds payments without notices, too. */
async function examineNotices(
  { client, keys, noticesAt }: Diagnosed,
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const findings: BankFinding[] = []
  for (const key of keys) {
    const path = `/webhook/${encodeURIComponent(key)}`
    const reply = await client.call({ method: 'GET', path }, signal)
    const use = withoutProblem(judgeUse('webhook.read', reply), 'scope_missing_for_notices')
    if (findings.length === 0 || use.code !== 'scope_used') findings.push(use)
    if (use.code !== 'scope_used') break
    findings.push(judgeAddress(reply, maskDictKey(key), noticesAt))
  }
  return findings
}

function judgeAddress(reply: Reply, key: string, noticesAt: NoticeAddress): BankFinding {
  const address = textOf(fieldsOf(bodyOf(reply)).webhookUrl)
  if (!isSuccess(reply) || address === null) return find('notices_missing', { key })
  const [found, current, prefix] = [address, noticesAt.current, noticesAt.prefix].map(dropScheme)
  if (found === current) return find('notices_ours', { key })
  if (found?.startsWith(prefix ?? '')) return find('notices_outdated', { key })
  return find('notices_foreign', { key, host: hostOfAddress(address) })
}

/** A scope, and a call that uses it without effect: it is about a charge, payment or key of nobody. */
export interface ScopeUse {
  scope: string
  call: () => BankCall
}

/** Uses of the scopes that charges and refunds need, except `pix.read`, which the list of payments uses. */
const PAYMENT_SCOPES: readonly ScopeUse[] = [
  { scope: 'cob.read', call: () => ({ method: 'GET', path: pathOfNoCharge() }) },
  {
    scope: 'cob.write',
    call: () => ({
      method: 'PATCH',
      path: pathOfNoCharge(),
      body: { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' },
    }),
  },
  {
    scope: 'pix.write',
    call: () => ({
      method: 'PUT',
      path: `/pix/${newEndToEndId()}/devolucao/${removeHyphens(newId())}`,
      body: { valor: '0.01' },
    }),
  },
]

/** Registers and removes addresses for notices. `webhook.read` is used by reading those of the keys. */
const WEBHOOK_WRITE: ScopeUse = {
  scope: 'webhook.write',
  call: () => ({ method: 'DELETE', path: `/webhook/${newId()}` }),
}

function pathOfNoCharge(): string {
  return `/cob/${removeHyphens(newId())}`
}

/** Uses a scope. A response that is neither a refusal of access nor that of a missing route proves it. */
export async function examineScope(
  client: BankClient,
  { scope, call }: ScopeUse,
  signal: AbortSignal,
): Promise<BankFinding> {
  return judgeUse(scope, await client.call(call(), signal))
}

/** Judges a scope without which live mode works: `code` says what for it is missed. */
export function withoutProblem(finding: BankFinding, code: FindingCode): BankFinding {
  if (finding.code === 'scope_missing') return find(code, finding.params)
  return finding.code === 'scope_unanswered' ? find('scope_unproven', finding.params) : finding
}

function judgeUse(scope: string, reply: Reply): BankFinding {
  if (reply.kind === 'response' && isStatusOk(reply.status)) return find('scope_used', { scope })
  const verdict = judge(reply, 'question')
  if (verdict.outcome === 'blocked') return judgeBlock(scope, verdict)
  // A bank that looked for the subject says that it does not have it.
  const isRouteMissing = reply.kind === 'response' && [404, 405].includes(reply.status)
  if (isRouteMissing && verdict.outcome === 'rejected')
    return find('scope_unproven', { scope, reason: verdict.bankText ?? '' })
  if (verdict.outcome !== 'retryable' && verdict.outcome !== 'unknown')
    return find('scope_used', { scope })
  const { reason } = verdict
  // Some banks fail at a subject that they do not have: that leaves the scope open, not the bank.
  const isUnproven = reply.kind === 'response' && verdict.outcome === 'unknown'
  return find(isUnproven ? 'scope_unproven' : 'scope_unanswered', { scope, reason })
}

function judgeBlock(scope: string, { code, reason }: { code: string; reason: string }) {
  if (code === 'scope') return find('scope_missing', { scope, reason })
  if (code === 'credentials') return find('token_refused', { reason })
  if (code === 'certificate') return find('certificate_refused', { reason })
  return find('scope_used', { scope })
}
