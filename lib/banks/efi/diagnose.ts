import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  diagnose,
  examineScope,
  type ScopeUse,
  withoutProblem,
} from '#lib/banks/api-pix/diagnose.ts'
import { DISPUTES } from '#lib/banks/efi/disputes.ts'
import { readBalance } from '#lib/banks/efi/payouts.ts'
import { checkSettings } from '#lib/banks/efi/settings.ts'
import { REPORTS_PATH } from '#lib/banks/efi/statement.ts'
import { type BankFinding, type FindingCode, find } from '#lib/banks/findings.ts'
import type { NoticeAddress } from '#lib/banks/notice.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'

/** The payout has neither an amount nor a receiver, so that it cannot be made. */
const PAYOUT_SCOPES: readonly ScopeUse[] = [
  {
    scope: 'pix.send',
    call: () => ({ method: 'PUT', version: 'v3', path: `/gn/pix/${newPayoutId()}`, body: {} }),
  },
  {
    scope: 'gn.pix.send.read',
    call: () => ({ method: 'GET', path: `/gn/pix/enviados/id-envio/${newPayoutId()}` }),
  },
]

/** Calls without effect: a list of the last minute, an order without a day, and an unknown report. */
const LISTED_SCOPES: readonly (ScopeUse & { lack: FindingCode })[] = [
  {
    ...{ scope: 'gn.infractions.read', lack: 'scope_missing_for_disputes' },
    call: () => ({ method: 'GET', path: DISPUTES.path, query: lastMinute() }),
  },
  {
    ...{ scope: 'gn.reports.write', lack: 'scope_missing_for_statements' },
    call: () => ({ method: 'POST', path: `${REPORTS_PATH}/extrato-conciliacao`, body: {} }),
  },
  {
    ...{ scope: 'gn.reports.read', lack: 'scope_missing_for_statements' },
    call: () => ({ method: 'GET', path: `${REPORTS_PATH}/${newId()}` }),
  },
]

interface Account {
  client: BankClient
  receivingKeys: readonly string[]
  payingKey: string | null
}

/** Examines an account at Efí: what API Pix needs, then payouts and settings. */
export async function diagnoseEfi(
  { client, receivingKeys, payingKey }: Account,
  noticesAt: NoticeAddress,
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const keys = [...new Set([...receivingKeys, ...(payingKey === null ? [] : [payingKey])])]
  const receives = receivingKeys.length > 0
  const examineMore = async (granted: BankClient) => [
    ...(payingKey === null ? [] : await examinePayouts(granted, signal)),
    ...(await examineLists(granted, signal)),
    ...(receives ? await examineSettings(granted, receivingKeys, signal) : []),
  ]
  const findings = await diagnose({ client, keys, noticesAt, receives, examineMore }, signal)
  // Efí refuses payouts from a key without an address for notices.
  const payer = payingKey === null ? null : maskDictKey(payingKey)
  return findings.map(finding =>
    finding.code === 'notices_missing' && finding.params.key === payer
      ? find('payer_notices_missing', finding.params)
      : finding,
  )
}

async function examinePayouts(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const findings: BankFinding[] = []
  for (const use of PAYOUT_SCOPES) findings.push(await examineScope(client, use, signal))
  return [...findings, ...(await examineBalance(client, signal))]
}

/** Without disputes and statements, live mode works. */
async function examineLists(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const findings: BankFinding[] = []
  for (const { lack, ...use } of LISTED_SCOPES)
    findings.push(withoutProblem(await examineScope(client, use, signal), lack))
  return findings
}

async function examineBalance(client: BankClient, signal: AbortSignal): Promise<BankFinding[]> {
  const balance = await readBalance(client, signal)
  const scope = 'gn.balance.read'
  if (balance.outcome === 'ok') {
    const amount = formatDecimalAmount(balance.value.available)
    return [find('scope_used', { scope }), find('balance_read', { amount })]
  }
  const reason = ('reason' in balance ? balance.reason : balance.bankText) ?? ''
  if (balance.outcome === 'blocked' && balance.code === 'scope')
    return [find('scope_missing', { scope, reason })]
  const isFinal = balance.outcome === 'blocked' || balance.outcome === 'rejected'
  return [find(isFinal ? 'balance_refused' : 'balance_unanswered', { reason })]
}

/** The scope `gn.settings.read` is for this only: without it, nothing is said. */
async function examineSettings(
  client: BankClient,
  receivingKeys: readonly string[],
  signal: AbortSignal,
): Promise<BankFinding[]> {
  const open = await checkSettings(client, receivingKeys, false, signal)
  if (open.outcome !== 'ok' || open.value.length === 0) return []
  return [find('settings_open', { settings: open.value.join(', ') })]
}

function lastMinute() {
  const toText = (at: number) => new Date(at).toISOString()
  const now = Date.now()
  return { inicio: toText(now - 60_000), fim: toText(now) }
}

function newPayoutId(): string {
  return removeHyphens(newId())
}
