import type { Tx } from '#lib/base/db/client.ts'
import { formatReais } from '#lib/base/money.ts'
import type { Ending } from '#lib/rooms/withdrawals/schema.ts'
import { queueMailToOwners } from '#lib/services/mail/owners.ts'
import { queueMail } from '#lib/services/mail/queue.ts'
import { listAdmins } from '#lib/services/people/admins.ts'

/** Mails all admins; once it has ended, also the owners of the account. */
export async function mailEnd(
  tx: Tx,
  { accountId, id, outcome, reason, amount }: Ending & { amount: number },
  kind: 'withdrawalEndProposed' | 'withdrawalEnded',
): Promise<void> {
  const { name: account } = await tx.account.findUniqueOrThrow({ where: { id: accountId } })
  const messageTo = (path: string, locale: string | null) => ({
    ...{ kind, account, reason, path, decided: outcome },
    amount: `R$ ${formatReais(amount, locale ?? 'pt-BR')}`,
  })
  const staffPath = `/admin/accounts/${accountId}?charge=${id}`
  for (const admin of await listAdmins(tx))
    await queueMail(tx, admin, messageTo(staffPath, admin.locale))
  if (kind === 'withdrawalEnded')
    await queueMailToOwners(tx, accountId, (_name, { locale }) =>
      messageTo(`/live/withdrawals/${id}`, locale),
    )
}
