import type { AccountStatus } from '#lib/accounts/schema.ts'
import { type Actor, recordAudit } from '#lib/audit/record.ts'
import { isUuid } from '#lib/core/ids.ts'
import { transaction } from '#lib/db/client.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'

/** Activates a pending or suspended account. Returns null if the status does not change. */
export function activateAccount(accountId: string, reason: string | undefined, actor: Actor) {
  return setAccountStatus(accountId, ['pending', 'suspended'], 'active', reason, actor)
}

/** Tokens are refused from the next request on. Returns null if the status does not change. */
export function suspendAccount(accountId: string, reason: string, actor: Actor) {
  return setAccountStatus(accountId, ['active', 'pending'], 'suspended', reason, actor)
}

function setAccountStatus(
  accountId: string,
  from: AccountStatus[],
  to: AccountStatus,
  reason: string | undefined,
  actor: Actor,
): Promise<{ id: string } | null> {
  if (!isUuid(accountId)) return Promise.resolve(null)
  return transaction(async tx => {
    const [before] = await tx.$queryRaw<{ status: AccountStatus }[]>`
      SELECT status FROM accounts WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`
    if (!before || !from.includes(before.status)) return null
    const data = { status: to, statusReason: reason ?? null }
    await tx.account.update({ where: { id: accountId }, data })
    const action = to === 'active' ? 'account.activated' : 'account.suspended'
    const change = { before: { status: before.status }, after: { status: to } }
    await recordAudit(tx, { actor, action, accountId, reason, ...change })
    await queueMailToOwners(tx, accountId, name =>
      to === 'active'
        ? { kind: 'accountActivated', account: name }
        : { kind: 'accountSuspended', account: name, reason: reason ?? '' },
    )
    return { id: accountId }
  })
}
