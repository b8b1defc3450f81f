import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { log } from '#lib/base/log.ts'

/**
 * Stores that the bank reports the opposite of how people ended a withdrawal, for the operator: in the
 * row, the audit log of the operator and the health page. Moves no money. Only the first time has an
 * effect, and none if the withdrawal was not ended by people. Returns whether it had one.
 */
export async function noteContradiction(
  accountId: string,
  withdrawalId: string,
  reported: 'done' | 'refused',
): Promise<boolean> {
  const contradicted = reported === 'done' ? 'not_sent' : 'sent'
  const isNoted = await transaction(async tx => {
    const noted = await tx.$executeRaw`
      UPDATE withdrawals SET contradiction = ${reported}, contradicted_at = now(), end_ask_at = NULL
      WHERE account_id = ${accountId}::uuid AND id = ${withdrawalId}::uuid
        AND ended_at IS NOT NULL AND end_outcome = ${contradicted} AND contradicted_at IS NULL`
    if (noted === 0) return false
    const entry = { action: 'withdrawal.contradicted', target: withdrawalId }
    const after = { account_id: accountId, ended_as: contradicted, bank_reports: reported }
    await recordAudit(tx, { ...entry, actor: { type: 'system' }, after })
    return true
  })
  if (isNoted)
    log().error({ withdrawalId, reported }, 'bank contradicts how a withdrawal was ended')
  return isNoted
}
