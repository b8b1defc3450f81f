import { recordAudit } from '#lib/base/audit/record.ts'
import { transaction } from '#lib/base/db/transaction.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents } from '#lib/base/money.ts'
import { noteItem } from '#lib/services/house/inbox.ts'

interface Contradicted {
  connectionId: string
  mode: Mode
  amount: bigint
}

/**
 * Stores that the bank reports the opposite of how people ended a withdrawal, for the operator: in the
 * row, the inbox, the audit log of the operator and the health page. Moves no money. Only the first time
 * has an effect, and none if the withdrawal was not ended by people. Returns whether it had one.
 */
export async function noteContradiction(
  accountId: string,
  withdrawalId: string,
  reported: 'done' | 'refused',
): Promise<boolean> {
  const contradicted = reported === 'done' ? 'not_sent' : 'sent'
  const isNoted = await transaction(async tx => {
    const [noted] = await tx.$queryRaw<Contradicted[]>`
      UPDATE withdrawals SET contradiction = ${reported}, contradicted_at = now(), end_ask_at = NULL
      WHERE account_id = ${accountId}::uuid AND id = ${withdrawalId}::uuid
        AND ended_at IS NOT NULL AND end_outcome = ${contradicted} AND contradicted_at IS NULL
      RETURNING connection_id AS "connectionId", mode, amount`
    if (!noted) return false
    const entry = { action: 'withdrawal.contradicted', target: withdrawalId }
    const after = { account_id: accountId, ended_as: contradicted, bank_reports: reported }
    await recordAudit(tx, { ...entry, actor: { type: 'system' }, after })
    const { connectionId, mode, amount } = noted
    const facts = { ...after, withdrawal_id: withdrawalId, mode, amount: cents(amount) }
    const item = { kind: 'withdrawal_contradicted', key: removeHyphens(withdrawalId) } as const
    await noteItem(tx, { connectionId, ...item, facts })
    return true
  })
  if (isNoted)
    log().error({ withdrawalId, reported }, 'bank contradicts how a withdrawal was ended')
  return isNoted
}
