import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { callWithTimeout } from '#lib/services/gateway/call.ts'
import { gatewayOfConnection } from '#lib/services/gateway/choose.ts'
import { CHECK_PASSED } from '#lib/services/gateway/connections.ts'

const CHECK_TIMEOUT_MS = 10_000

export interface CheckResult {
  /** `ok`, or what the bank refused; null if it gave no answer. */
  code: string | null
  /** What the bank said, or why there is no answer; null if the check passed. */
  reason: string | null
}

/**
 * Asks the bank whether the connection works, and stores its answer: accounts may use a connection
 * that passed. Without an answer, the result of the check before stays, so that a bank that is down
 * for a moment closes no account's live mode.
 */
export async function checkConnection(id: string, actor: Actor): Promise<CheckResult> {
  const gateway = await gatewayOfConnection(id)
  const result = await callWithTimeout('checkHealth', () => gateway.checkHealth(), CHECK_TIMEOUT_MS)
  const { outcome } = result
  const reason = outcome === 'ok' ? null : result.reason
  if (outcome === 'retryable' || outcome === 'unknown') return { code: null, reason }
  const code = outcome === 'ok' ? CHECK_PASSED : outcome
  await transaction(async tx => {
    const data = { checkedAt: new Date(), checkCode: code }
    await tx.connection.update({ where: { id }, data })
    await recordAudit(tx, { actor, action: 'connection.checked', target: id, after: { code } })
  })
  return { code, reason }
}
