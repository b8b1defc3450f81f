import { readPeople } from '#lib/audit/queries.ts'
import { recordAction } from '#lib/audit/record.ts'
import { isMoneyOutClosed, isMoneyOutClosedFor } from '#lib/banks/closures.ts'
import { refuse, type TrocoError } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents, formatReais } from '#lib/core/money.ts'
import { db, Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { joinCtes, queryRows } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { lockDisputes } from '#lib/ledger/owed.ts'
import { type Message, queueMail, type Recipient } from '#lib/mail/queue.ts'
import { lockHeldSql, releaseOrdersSql } from '#lib/orders/order.ts'
import {
  approverRows,
  barredSql,
  inForceSql,
  lockApprover,
  mayApproveSql,
} from '#lib/people/approvers.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import { findWithdrawal, withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

/** Time in which a second member may approve; afterwards the withdrawal is rejected. */
const APPROVAL_HOURS = 24

export const approvalColumns = Prisma.raw('approval_reason, approval_due_at, approval_barred')

/**
 * Selects `approvalColumns` of a request `s`, null if it needs no approval. The rule is that of the statement's
 * snapshot; `s.day_sum` is the sum of the day with the request. Without a rule, nothing else is read; with one, first
 * the key, then the number of members.
 */
export const approvalSql = Prisma.sql`
  SELECT r.reason AS approval_reason,
    CASE WHEN r.reason IS NOT NULL THEN now() + ${Prisma.raw(`interval '${APPROVAL_HOURS} hours'`)} END
      AS approval_due_at,
    CASE WHEN r.reason IS NOT NULL THEN (
      SELECT ${barredSql(Prisma.raw('s.requesters'))} FROM accounts a WHERE a.id = s.account_id) END AS approval_barred
  FROM (SELECT (
    SELECT CASE WHEN c.reason IS NOT NULL THEN CASE WHEN ${inForceSql} THEN c.reason END END
    FROM accounts a CROSS JOIN LATERAL (SELECT CASE
      WHEN s.amount > a.approval_above THEN 'amount'
      WHEN a.approval_new_keys AND NOT EXISTS (
        SELECT FROM withdrawals k WHERE k.account_id = a.id AND k.mode = s.mode
          AND k.dict_key = s.dict_key AND k.status = 'approved') THEN 'new_key'
      WHEN s.day_sum > a.approval_day_above THEN 'day_amount' END AS reason OFFSET 0) c
    WHERE a.id = s.account_id) AS reason OFFSET 0) r`

/** Condition on an order `o`: a member decides about its withdrawal, for which `condition` of `w` holds. */
function isWaitingSql(condition: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`o.state = 'held' AND EXISTS (SELECT FROM withdrawals w
    WHERE w.account_id = o.account_id AND w.id = o.id AND ${condition})`
}

export async function isWaiting(accountId: string, id: string): Promise<boolean> {
  const where = { accountId, id, approvalDueAt: { not: null } }
  return (await db().withdrawal.count({ where })) > 0
}

interface Decision {
  accountId: string
  mode: Mode
  id: string
  /** Member who decides. */
  by: string
}

/**
 * Releases a waiting withdrawal to the worker, in one statement with the audit record: of concurrent
 * decisions and the expiry, one takes effect. The approver's role is locked before and until commit.
 * Refused while less is held than is disputed. Approving an approved withdrawal again changes nothing.
 */
export async function approveRequest(decision: Decision): Promise<WithdrawalRow> {
  const { accountId, mode, id, by } = decision
  if (!isUuid(id)) throw refuse('withdrawal_not_found')
  const row = await transaction(async tx => {
    if (!(await lockApprover(tx, accountId, by))) return null
    const [released] = await queryRows<WithdrawalRow>(releaseSql(decision), tx)
    if (!released) return null
    const { held, disputed } = await lockDisputes(tx, accountId, mode)
    if (held < disputed) throw refuse('dispute_not_covered')
    return released
  })
  if (!row) return explainUnchanged(decision)
  wake('orders')
  return row
}

function releaseSql({ accountId, mode, id, by }: Decision): Prisma.Sql {
  const noted = recordAction({ action: 'withdrawal.approved', by }, 'released')
  return Prisma.sql`
    WITH ${joinCtes({
      held: lockHeldSql({ accountId, id }),
      released: Prisma.sql`
        UPDATE withdrawals w SET approval_due_at = NULL, approval_by = ${by}::uuid,
          approval_at = now(), updated_at = now()
        FROM held h JOIN accounts a ON a.id = h.account_id CROSS JOIN LATERAL ${approverRows(by)}
        WHERE w.account_id = h.account_id AND w.id = h.id AND w.mode = ${mode} AND w.status = 'pending' AND w.approval_due_at > now()
          AND ${mayApproveSql('w.approval_barred')}
        RETURNING w.*`,
      queued: releaseOrdersSql('released'),
      noted,
    })}
    SELECT ${withdrawalAsJson}::text AS json FROM released w`
}

/** Returns the withdrawal if a member has approved it already; else refuses with the reason. */
async function explainUnchanged({ accountId, mode, id }: Decision): Promise<WithdrawalRow> {
  const row = await findWithdrawal(accountId, mode, id)
  if (!row) throw refuse('withdrawal_not_found')
  const where = { accountId_id: { accountId, id } }
  const stored = await db().withdrawal.findUniqueOrThrow({ where })
  if (stored.approvalDueAt && stored.approvalDueAt > new Date()) throw refuse('approval_by_other')
  const isApproved = stored.approvalBy !== null && stored.rejectionCode !== 'approval_declined'
  if (isApproved) return row
  throw approvalEnded()
}

function approvalEnded(): TrocoError {
  return refuse('approval_ended', 'This withdrawal no longer waits for approval')
}

const RETRY_AFTER_S = 60

/**
 * Rejects a waiting withdrawal and returns its amount. The requester may do it, too: nothing leaves
 * the account. Not while money out is closed after a restore: the bank may have paid one that was
 * approved since.
 */
export async function declineRequest({
  accountId,
  mode,
  id,
  by,
}: Decision): Promise<WithdrawalRow> {
  const found = isUuid(id) ? await findWithdrawal(accountId, mode, id) : null
  if (!found) throw refuse('withdrawal_not_found')
  const row = await rejectWithdrawal({
    accountId,
    withdrawalId: id,
    reason: { code: 'approval_declined', params: {} },
    decision: {
      condition: Prisma.sql`${isWaitingSql(Prisma.sql`w.approval_due_at > now()`)}
        AND NOT ${isMoneyOutClosedFor(Prisma.sql`o.connection_id`)}`,
      ofWithdrawal: Prisma.sql`approval_due_at = NULL, approval_by = ${by}::uuid, approval_at = now(),`,
      audit: { action: 'withdrawal.declined', by },
    },
  })
  if (!row && (await mayHaveBeenSent(accountId, id)))
    throw refuse('service_unavailable', { retryAfterS: RETRY_AFTER_S })
  if (!row) throw approvalEnded()
  return row
}

async function mayHaveBeenSent(accountId: string, id: string): Promise<boolean> {
  const where = { accountId_id: { accountId, id } }
  const { approvalDueAt, connectionId } = await db().withdrawal.findUniqueOrThrow({ where })
  return approvalDueAt !== null && isMoneyOutClosed(connectionId)
}

const EXPIRED_BATCH_MAX = 100

/**
 * Rejects withdrawals that nobody approved in time and returns their amounts, each in one statement
 * that an approval or another worker excludes. Not while money out is closed after a restore: the bank
 * may have paid one that was approved since. Returns how many expired.
 */
export async function expireWaitingWithdrawals(): Promise<number> {
  const due = await db().$queryRaw<{ accountId: string; id: string }[]>`
    SELECT account_id AS "accountId", id FROM withdrawals
    WHERE approval_due_at <= now() AND NOT ${isMoneyOutClosedFor(Prisma.sql`connection_id`)}
    ORDER BY approval_due_at LIMIT ${EXPIRED_BATCH_MAX}`
  let expired = 0
  for (const { accountId, id } of due) {
    // A failure must not stop the others; the withdrawal stays due.
    const row = await expireOne(accountId, id).catch(error =>
      log().error({ err: error, withdrawalId: id }, 'expiring a withdrawal failed'),
    )
    if (row) expired += 1
  }
  return expired
}

function expireOne(accountId: string, withdrawalId: string) {
  return rejectWithdrawal({
    accountId,
    withdrawalId,
    reason: { code: 'approval_expired', params: {} },
    decision: {
      condition: isWaitingSql(Prisma.sql`w.approval_due_at <= now()`),
      ofWithdrawal: Prisma.sql`approval_due_at = NULL, approval_at = now(),`,
      audit: { action: 'withdrawal.approval_expired', by: null, orSystem: true },
    },
  })
}

const MAILED_BATCH_MAX = 500

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
        ORDER BY approval_due_at LIMIT ${MAILED_BATCH_MAX} FOR UPDATE SKIP LOCKED)
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
