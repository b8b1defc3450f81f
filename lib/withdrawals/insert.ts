import { recordAction } from '#lib/audit/record.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import {
  type AccountRef,
  accountIdOf,
  accountSql,
  columnsOf,
  memberLockOf,
  queryRows,
} from '#lib/db/sql.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { refuseWithdrawal } from '#lib/ledger/owed.ts'
import { insertOrderSql } from '#lib/orders/order.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import { approvalColumns, approvalSql } from '#lib/withdrawals/approval.ts'
import { requireWithinLimits } from '#lib/withdrawals/limit.ts'
import { withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalOrder, WithdrawalRow } from '#lib/withdrawals/schema.ts'

/**
 * Inserts the withdrawal and holds its amount in one statement; a CHECK refuses more than the
 * balance (`refuseWithdrawal`). The statement also decides whether it waits for a second member.
 * Live mode also enforces the account's limits.
 */
export async function insertWithdrawal(
  account: AccountRef,
  mode: Mode,
  order: WithdrawalOrder,
  once?: IdempotentRequest,
): Promise<WithdrawalRow> {
  const accountId = accountIdOf(account)
  const lockMember = memberLockOf(account)
  const insert = (tx?: Tx) => queryRows<WithdrawalRow>(insertSql(account, mode, order, once), tx)
  const insertInTransaction = async (tx: Tx) => {
    await lockMember?.(tx)
    const rows = await insert(tx)
    if (mode === 'live') await requireWithinLimits(tx, accountId, order)
    return rows
  }
  const written =
    mode === 'live' || lockMember
      ? transaction(insertInTransaction)
      : retryOnConflict(() => insert())
  const [row] = await written.catch(error => refuseInsert(error, accountId, mode))
  if (!row) throw new Invariant('the statement that inserts a withdrawal returned no row')
  return row
}

function insertSql(
  account: AccountRef,
  mode: Mode,
  order: WithdrawalOrder,
  once: IdempotentRequest | undefined,
): Prisma.Sql {
  const accountId = accountIdOf(account)
  const id = once?.id ?? newRoutableId(accountId)
  const bookedAt = Prisma.sql`${order.bookedAt ?? null}::timestamptz`
  return bookMovement({
    idempotency: once,
    ctes: {
      made: Prisma.sql`
        INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type,
          pix_key, dict_key, owner_doc, webhook_url, webhook_host, external_id, requested_by, trace,
          ${approvalColumns}, created_at)
        SELECT ${accountSql(account)}, ${id}::uuid, ${mode},
          ${order.connectionId ?? connectionIn(mode, null)}::uuid, 'pending', ${order.amount}::bigint,
          ${order.pixKeyType}, ${order.pixKey}, ${order.dictKey}, ${order.ownerDoc ?? null},
          ${order.webhookUrl ?? null}, ${hostOf(order.webhookUrl)}, ${order.externalId ?? null}, ${order.requestedBy ?? null}::uuid,
          ${currentCause()},
          n.*, COALESCE(${bookedAt}, now())
        FROM (${approvalSql(accountIdOf(account), mode, order)}) n
        RETURNING *`,
      ordered: withdrawalOrderSql(Prisma.sql`made s`),
      waiting_noted: recordAction(
        { action: 'withdrawal.approval_requested', by: order.by, orSystem: true },
        'made',
        Prisma.sql`s.approval_reason IS NOT NULL`,
      ),
    },
    source: {
      from: Prisma.sql`made w`,
      columns: { ...columnsOf('w', ['account_id', 'mode', 'id', 'amount']), booked_at: bookedAt },
    },
    movement: 'withdrawal_held',
    audit: { action: 'withdrawal.requested', by: order.by },
    returning: withdrawalAsJson,
  })
}

/** Stores the order of a withdrawal `s`. It is held while a member decides. */
export function withdrawalOrderSql(from: Prisma.Sql): Prisma.Sql {
  return insertOrderSql(['withdrawal', 'payout'], from, {
    target: Prisma.sql`s.dict_key`,
    ownerDoc: Prisma.sql`s.owner_doc`,
    trace: Prisma.sql`s.trace`,
    isHeld: Prisma.sql`s.approval_reason IS NOT NULL`,
  })
}

function refuseInsert(error: unknown, accountId: string, mode: Mode): Promise<never> {
  if (parseDatabaseError(error).constraint === 'withdrawals_account_id_mode_external_id_key') {
    throw refuse('external_id_used')
  }
  return refuseWithdrawal(error, accountId, mode)
}
