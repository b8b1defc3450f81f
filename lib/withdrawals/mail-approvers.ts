import { readPeople } from '#lib/audit/people.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents, formatReais } from '#lib/core/money.ts'
import type { Tx } from '#lib/db/client.ts'
import { transaction } from '#lib/db/client.ts'
import type { Message, Recipient } from '#lib/mail/queue.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { approverRows, mayApproveSql } from '#lib/people/approvers.ts'

const BATCH_MAX = 500

interface WaitingGroup {
  accountId: string
  mode: Mode
  account: string
  count: number
  /** Of the one that waits longest. */
  id: string
  amount: bigint
  ends: Date
  /** Null: a token of the operator. */
  requestedBy: string | null
}

/**
 * Queues one mail to each member who may approve, for all withdrawals of an account and mode that no
 * mail has announced yet, in the transaction that marks them. Returns the number of mails.
 */
export function mailApprovers(): Promise<number> {
  return transaction(async tx => {
    const groups = await claimUnannounced(tx)
    const findPerson = await readPeople(
      groups.map(({ accountId, requestedBy }) => [accountId, requestedBy]),
      tx,
    )
    let mails = 0
    for (const group of groups) {
      const requester = findPerson(group.accountId, group.requestedBy)?.name ?? null
      for (const to of await findApprovers(tx, group)) {
        await queueMail(tx, to, writeMessage({ ...group, requester }, to.locale ?? 'pt-BR'))
        mails += 1
      }
    }
    return mails
  })
}

function claimUnannounced(tx: Tx): Promise<WaitingGroup[]> {
  return tx.$queryRaw<WaitingGroup[]>`
    WITH announced AS (
      UPDATE withdrawals SET approval_mailed_at = now()
      WHERE (account_id, id) IN (
        SELECT account_id, id FROM withdrawals
        WHERE approval_due_at > now() AND approval_mailed_at IS NULL
        ORDER BY approval_due_at LIMIT ${BATCH_MAX} FOR UPDATE SKIP LOCKED)
      RETURNING account_id, mode, id, amount, approval_due_at, requested_by)
    SELECT DISTINCT ON (n.account_id, n.mode) n.account_id AS "accountId", n.mode, a.name AS account,
      (count(*) OVER (PARTITION BY n.account_id, n.mode))::int AS count, n.id, n.amount,
      n.approval_due_at AS ends, n.requested_by AS "requestedBy"
    FROM announced n JOIN accounts a ON a.id = n.account_id
    ORDER BY n.account_id, n.mode, n.approval_due_at`
}

/** Members who may approve the withdrawal of the group. */
function findApprovers(tx: Tx, { accountId, id }: WaitingGroup): Promise<Recipient[]> {
  return tx.$queryRaw<Recipient[]>`
    SELECT m.email, m.locale FROM withdrawals w JOIN accounts a ON a.id = w.account_id
      CROSS JOIN LATERAL ${approverRows()}
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid
      AND ${mayApproveSql('w.approval_barred')}`
}

function writeMessage(group: WaitingGroup & { requester: string | null }, locale: string): Message {
  const { account, count, mode, id, ends, requester } = group
  const path = `/${mode}/withdrawals`
  if (count > 1)
    return { kind: 'withdrawalsWaiting', mode, account, count: String(count), ends, path }
  const amount = `R$ ${formatReais(cents(group.amount), locale)}`
  const to = `${path}/${id}`
  return { kind: 'withdrawalWaiting', mode, account, amount, requester, ends, path: to }
}
