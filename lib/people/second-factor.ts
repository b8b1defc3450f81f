import { recordAudit } from '#lib/audit/record.ts'
import { transaction } from '#lib/db/client.ts'
import { consumeAppCode } from '#lib/people/authenticator.ts'
import { changeFactor, type FactorOwner, mailFactorChange } from '#lib/people/factors.ts'
import { consumeRecoveryCode, makeRecoveryCodes } from '#lib/people/recovery-codes.ts'

export type CodeKind = 'code' | 'recovery_code'

/** Consumes an app or recovery code; null if wrong or used. The caller counts the attempt first. */
export function consumeCode(userId: string, text: string): Promise<CodeKind | null> {
  return transaction(async tx => {
    const code = text.replace(/\s/g, '')
    if (await consumeAppCode(tx, userId, code)) return 'code'
    if (!(await consumeRecoveryCode(tx, userId, code))) return null
    const actor = { type: 'user', id: userId } as const
    await recordAudit(tx, { actor, action: 'user.recovery_code_used', target: userId })
    await mailFactorChange(
      tx,
      await tx.user.findUniqueOrThrow({ where: { id: userId } }),
      'codeUsed',
    )
    return 'recovery_code'
  })
}

/** Replaces all recovery codes. The caller must have confirmed the user's identity. */
export async function renewRecoveryCodes(owner: FactorOwner): Promise<string[]> {
  let codes: string[] = []
  const change = { action: 'user.recovery_codes_renewed', mail: 'codesRenewed' } as const
  await changeFactor(owner, change, async tx => {
    codes = await makeRecoveryCodes(tx, owner.id)
  })
  return codes
}
