import { type Actor, recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { gatewayOfConnection } from '#lib/services/gateway/choose.ts'
import { withConnectionJournal } from '#lib/services/gateway/connection-calls.ts'
import { CHECK_PASSED } from '#lib/services/gateway/connections.ts'

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
  const result = await withConnectionJournal({ id, gateway }).checkHealth()
  const { outcome } = result
  const reason = 'reason' in result ? result.reason : 'bankText' in result ? result.bankText : null
  if (outcome === 'retryable' || outcome === 'unknown') return { code: null, reason }
  const code = outcome === 'ok' ? CHECK_PASSED : outcome
  await transaction(async tx => {
    const data = { checkedAt: new Date(), checkCode: code }
    await tx.connection.update({ where: { id }, data })
    await recordAudit(tx, { actor, action: 'connection.checked', target: id, after: { code } })
  })
  return { code, reason }
}
