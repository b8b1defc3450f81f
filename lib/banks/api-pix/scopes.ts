import type { BankCall, BankClient } from '#lib/banks/api-pix/client.ts'
import { judge } from '#lib/banks/api-pix/outcomes.ts'
import { isStatusOk, type Reply } from '#lib/banks/api-pix/reply.ts'
import { type BankFinding, type FindingCode, find } from '#lib/banks/findings.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'

/** A scope, and a call that uses it without effect: it is about a charge, payment or key of nobody. */
export interface ScopeUse {
  scope: string
  call: () => BankCall
}

/** Uses of the scopes that charges and refunds need, except `pix.read`, which the list of payments uses. */
export const PAYMENT_SCOPES: readonly ScopeUse[] = [
  { scope: 'cob.read', call: () => ({ method: 'GET', path: pathOfNoCharge() }) },
  {
    scope: 'cob.write',
    call: () => ({
      ...{ method: 'PATCH', path: pathOfNoCharge() },
      body: { status: 'REMOVIDA_PELO_USUARIO_RECEBEDOR' },
    }),
  },
  {
    scope: 'pix.write',
    call: () => ({
      ...{ method: 'PUT', path: `/pix/${newEndToEndId()}/devolucao/${removeHyphens(newId())}` },
      body: { valor: '0.01' },
    }),
  },
]

/** Registers and removes addresses for notices. `webhook.read` is used by reading those of the keys. */
export const WEBHOOK_WRITE: ScopeUse = {
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

export function judgeUse(scope: string, reply: Reply): BankFinding {
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
