import { permissionLock } from '#lib/accounts/members.ts'
import { createAuditNote } from '#lib/audit/record.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Tx } from '#lib/db/client.ts'
import { accountSql } from '#lib/db/sql.ts'
import type { CallingAccount } from '#lib/http/caller.ts'
import type { Owner } from '#lib/webhooks/owner.ts'

interface Call {
  account: CallingAccount
  mode: Mode
  userId: string | null
  tokenId: string | null
  readsPayers: boolean
}

/**
 * Describes the caller to the operations on endpoints and deliveries: a member, whose role may change until
 * they commit, or a token, whose permissions never change but which may be revoked. An operation can only record
 * its action while it holds that authority until the commit.
 */
export function webhookOwner({ account, mode, userId, tokenId, readsPayers }: Call): Owner {
  const lockMember = permissionLock({ accountId: account.id, userId }, 'webhooks:write')
  const record = createAuditNote(account.id, userId, tokenId)
  const lockAuthority = async (tx: Tx) => {
    if (tokenId === null) return lockMember(tx)
    await tx.$queryRaw`
      SELECT t.id FROM tokens t
      WHERE t.account_id = ${account.id}::uuid AND t.id = ${tokenId}::uuid FOR SHARE`
    await tx.$queryRaw`SELECT ${accountSql(account.authority)}`
    return { readsPayers }
  }
  return {
    accountId: account.id,
    mode,
    readsPayers,
    isToken: tokenId !== null,
    lockAuthority,
    async note(tx, ...entry) {
      await lockAuthority(tx)
      await record(tx, ...entry)
    },
  }
}
