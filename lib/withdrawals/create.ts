import { recordAction } from '#lib/audit/record.ts'
import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import { parseDatabaseError, refuse } from '#lib/core/errors.ts'
import { idLowerBoundAt, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import type { ExceededLimit } from '#lib/core/refusals.ts'
import { currentCause } from '#lib/core/trace.ts'
import { Prisma, retryOnConflict, type Tx, transaction } from '#lib/db/client.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import {
  type Authority,
  accountIdOf,
  accountSql,
  columnsOf,
  homeZone,
  memberLockOf,
  queryRows,
} from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookMovement } from '#lib/ledger/book.ts'
import { refuseWithdrawal } from '#lib/ledger/owed.ts'
import { insertOrderSql } from '#lib/orders/order.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import { approvalColumns, approvalSql } from '#lib/withdrawals/approval.ts'
import { withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow, WithdrawalTerms } from '#lib/withdrawals/schema.ts'

/**
 * Refuses over a live-mode limit, rolling back the caller's transaction. The caller holds the lock
 * on the balance, so no other withdrawal of the account can intervene; a statement before that lock
 * would not see the one that held it. Names the limit that frees last.
 */
async function requireWithinLimits(tx: Tx, accountId: string, terms: LimitedTerms): Promise<void> {
  const limits = await readLimits(tx, accountId, terms)
  if (!limits) return
  const { withdrawalMax, nightMax, dayMax, payoutMax, payoutDayMax } = limits
  const { nightBegan, nightEnds, dayBegan, dayEnds } = limits
  const exceeded: ExceededLimit[] = []
  const check = (name: ExceededLimit['name'], max: bigint | null, total: number, ends?: Date) => {
    if (max === null || total <= cents(max)) return
    const isLater = name === 'account_night' || terms.amount <= cents(max)
    const amount = name === 'connection_day' ? null : cents(max)
    exceeded.push({ name, amount, freesAt: (isLater && ends) || null })
  }
  const ofAccount = (from: Date) =>
    Prisma.sql`account_id = ${accountId}::uuid AND id >= ${idLowerBoundAt(from.getTime())}::uuid`
  check('account_withdrawal', withdrawalMax, terms.amount)
  check('connection_withdrawal', payoutMax, terms.amount)
  if (nightMax !== null && nightBegan && nightEnds) {
    const total = await sumWithdrawals(tx, ofAccount(nightBegan), nightBegan, nightEnds)
    check('account_night', nightMax, total, nightEnds)
  }
  if (dayMax !== null) {
    const total = await sumWithdrawals(tx, ofAccount(dayBegan), dayBegan, dayEnds)
    check('account_day', dayMax, total, dayEnds)
  }
  if (payoutDayMax !== null) {
    const ofConnection = await lockConnection(tx, terms.connectionId)
    const total = await sumWithdrawals(tx, ofConnection, dayBegan, dayEnds)
    check('connection_day', payoutDayMax, total, dayEnds)
  }
  const [limit] = exceeded.sort((one, other) => freesIn(other) - freesIn(one))
  if (limit) throw refuse('limit_exceeded', { limit })
}

function freesIn({ freesAt }: ExceededLimit): number {
  return freesAt?.getTime() ?? Number.MAX_SAFE_INTEGER
}

/** Until the commit, no other account can create a withdrawal through the same connection. */
async function lockConnection(tx: Tx, id: string | null | undefined): Promise<Prisma.Sql> {
  await tx.$executeRaw`SELECT FROM connections WHERE id = ${id ?? null}::uuid FOR NO KEY UPDATE`
  return Prisma.sql`connection_id = ${id ?? null}::uuid`
}

/** Sums what was not rejected; a withdrawal counts for the time at which it was created. */
async function sumWithdrawals(
  tx: Tx,
  condition: Prisma.Sql,
  from: Date,
  until: Date,
): Promise<number> {
  const [sum] = await tx.$queryRaw<{ total: bigint }[]>`
    SELECT COALESCE(sum(amount), 0)::bigint AS total FROM withdrawals
    WHERE ${condition} AND mode = 'live' AND status <> 'rejected'
      AND created_at >= ${from}::timestamptz AND created_at < ${until}::timestamptz`
  return cents(sum?.total ?? 0)
}

type LimitedTerms = Pick<WithdrawalTerms, 'amount' | 'bookedAt' | 'connectionId'>

interface Limits {
  withdrawalMax: bigint | null
  nightMax: bigint | null
  dayMax: bigint | null
  payoutMax: bigint | null
  payoutDayMax: bigint | null
  /** Start of the request's night, 20:00 in São Paulo; null by day. */
  nightBegan: Date | null
  /** End of the same night, 06:00 in São Paulo; null by day. */
  nightEnds: Date | null
  dayBegan: Date
  dayEnds: Date
}

/** Reads the limits of the account and of the connection, and the night and day of the request. */
async function readLimits(
  tx: Tx,
  accountId: string,
  { bookedAt, connectionId }: LimitedTerms,
): Promise<Limits | undefined> {
  const zone = Prisma.sql`AT TIME ZONE ${homeZone}`
  const [limits] = await tx.$queryRaw<Limits[]>`
    SELECT a.withdrawal_max AS "withdrawalMax", a.night_max AS "nightMax", a.day_max AS "dayMax",
      n.payout_max AS "payoutMax", n.payout_day_max AS "payoutDayMax",
      (night.evening + time '20:00') ${zone} AS "nightBegan",
      (night.evening + 1 + time '06:00') ${zone} AS "nightEnds",
      here.at::date::timestamp ${zone} AS "dayBegan", (here.at::date + 1)::timestamp ${zone} AS "dayEnds"
    FROM accounts a
    LEFT JOIN connections n ON n.id = ${connectionId ?? null}::uuid
    CROSS JOIN LATERAL (SELECT COALESCE(${bookedAt ?? null}::timestamptz, now()) ${zone} AS at) here
    CROSS JOIN LATERAL (SELECT CASE WHEN here.at::time >= '20:00' THEN here.at::date
      WHEN here.at::time < '06:00' THEN here.at::date - 1 END AS evening) night
    WHERE a.id = ${accountId}::uuid`
  return limits
}

/**
 * Inserts the withdrawal and holds its amount in one statement; a CHECK refuses more than the
 * balance (`refuseWithdrawal`). The statement also decides whether it waits for a second member.
 * Live mode also enforces the account's limits.
 */
export async function insertWithdrawal(
  account: Authority,
  mode: Mode,
  terms: WithdrawalTerms,
  once?: IdempotentRequest,
): Promise<WithdrawalRow> {
  const accountId = accountIdOf(account)
  const lockMember = memberLockOf(account)
  const insert = (tx?: Tx) => queryRows<WithdrawalRow>(insertSql(account, mode, terms, once), tx)
  const insertInTransaction = async (tx: Tx) => {
    await lockMember?.(tx)
    const rows = await insert(tx)
    if (mode === 'live') await requireWithinLimits(tx, accountId, terms)
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
  account: Authority,
  mode: Mode,
  terms: WithdrawalTerms,
  once: IdempotentRequest | undefined,
): Prisma.Sql {
  const accountId = accountIdOf(account)
  const id = once?.id ?? newRoutableId(accountId)
  const bookedAt = Prisma.sql`${terms.bookedAt ?? null}::timestamptz`
  return bookMovement({
    idempotency: once,
    ctes: {
      made: Prisma.sql`
        INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type,
          pix_key, dict_key, owner_doc, webhook_url, webhook_host, external_id, memo, requested_by, trace,
          ${approvalColumns}, created_at)
        SELECT ${accountSql(account)}, ${id}::uuid, ${mode},
          ${terms.connectionId ?? connectionIn(mode, null)}::uuid, 'pending', ${terms.amount}::bigint,
          ${terms.pixKeyType}, ${terms.pixKey}, ${terms.dictKey}, ${terms.ownerDoc ?? null},
          ${terms.webhookUrl ?? null}, ${hostOf(terms.webhookUrl)}, ${terms.externalId ?? null},
          ${terms.memo ?? null}, ${terms.requestedBy ?? null}::uuid,
          ${currentCause()},
          n.*, COALESCE(${bookedAt}, now())
        FROM (${approvalSql(accountIdOf(account), mode, terms)}) n
        RETURNING *`,
      ordered: withdrawalOrderSql(Prisma.sql`made s`),
      waiting_noted: recordAction(
        { action: 'withdrawal.approval_requested', by: terms.by, orSystem: true },
        'made',
        Prisma.sql`s.approval_reason IS NOT NULL`,
      ),
    },
    source: {
      from: Prisma.sql`made w`,
      columns: { ...columnsOf('w', ['account_id', 'mode', 'id', 'amount']), booked_at: bookedAt },
    },
    movement: 'withdrawal_held',
    audit: { action: 'withdrawal.requested', by: terms.by },
    returning: withdrawalAsJson,
  })
}

/** Stores the order of a withdrawal `s`. It is held while a member decides. */
function withdrawalOrderSql(from: Prisma.Sql): Prisma.Sql {
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

/**
 * Creates a withdrawal: holds the amount before the bank is called, and wakes the worker. An amount
 * above the balance is refused by `insertWithdrawal`.
 */
export async function createWithdrawal(
  account: Authority,
  mode: Mode,
  terms: WithdrawalTerms,
  once?: IdempotentRequest,
): Promise<WithdrawalRow> {
  const connectionId = terms.connectionId ?? connectionIn(mode, null)
  if (!connectionId) throw refuse('withdrawals_disabled')
  const gateway = await gatewayOfConnection(connectionId)
  const { outcome } = await gateway.checkPayout(terms.dictKey)
  if (outcome !== 'ok') throw refuse('service_unavailable')
  const row = await insertWithdrawal(account, mode, terms, once)
  wake('orders')
  return row
}
