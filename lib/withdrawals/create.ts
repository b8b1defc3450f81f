import { auditColumns, auditValues, recordActions } from '#lib/audit/record.ts'
import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { idLowerBoundAt, newRoutableId } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { ExceededLimit } from '#lib/core/refusals.ts'
import { currentCause } from '#lib/core/trace.ts'
import { createBatcher } from '#lib/db/batch.ts'
import { Prisma, retryOnConflict, transaction } from '#lib/db/client.ts'
import {
  type IdempotentRequest,
  keyColumns,
  keyIsStored,
  keyValues,
  storeKeysSql,
  unlockKeysSql,
} from '#lib/db/idempotency.ts'
import {
  type Authority,
  accountIdOf,
  homeZone,
  joinCtes,
  memberLockOf,
  queryRows,
  queryText,
} from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { bookSql } from '#lib/ledger/book.ts'
import { refuseWithdrawal } from '#lib/ledger/owed.ts'
import { insertOrderSql } from '#lib/orders/order.ts'
import { callerChanged, isProvenSql, provenColumns } from '#lib/tokens/authenticate.ts'
import { hostOf } from '#lib/webhooks/target.ts'
import { approvalColumns, approvalSql } from '#lib/withdrawals/approval.ts'
import { withdrawalAsJson } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow, WithdrawalTerms } from '#lib/withdrawals/schema.ts'

/** Longer than any day and night: the ids of their withdrawals are above the bound. */
const DAY_MAX_MS = 26 * 3_600_000
/** Limit of one statement, as of those that other requests share. */
const SHARED_MAX = 64

/** Requests of one account, mode, connection and time can share a statement. */
interface Request {
  accountId: string
  mode: Mode
  connectionId: string | null
  bookedAt: Date | undefined
  row: { id: string } & Record<string, unknown>
}

/** `made` is null if the request was refused. */
interface Outcome {
  id: string
  made: WithdrawalRow | null
  refusal: Refusal | null
}

/** Refusals of prisma/functions/troco_judge_withdrawals.sql. */
type Refusal =
  | {
      code: 'caller_changed' | 'external_id_used' | 'idempotency_key_used' | 'insufficient_balance'
    }
  | ({ code: 'limit_exceeded'; frees_at: string | null } & Pick<ExceededLimit, 'name' | 'amount'>)

/**
 * Inserts the withdrawal and holds its amount, in a statement that requests of an account share while they wait for its
 * books. It judges them as if they came one after the other: one that is refused changes nothing for the others. It also
 * decides which of them wait for a second member.
 */
export async function insertWithdrawal(
  account: Authority,
  mode: Mode,
  terms: WithdrawalTerms,
  once?: IdempotentRequest,
): Promise<WithdrawalRow> {
  const request = toRequest(account, mode, terms, once)
  const lockMember = memberLockOf(account)
  const { made, refusal } = lockMember
    ? await transaction(async tx => {
        await lockMember(tx)
        return outcomeOf(request, await queryRows(insertSql(serializeRequests([request])), tx))
      })
    : await insertShared(request)
  if (made) return made
  throw await refusalError(refusal, request)
}

function toRequest(
  account: Authority,
  mode: Mode,
  terms: WithdrawalTerms,
  once: IdempotentRequest | undefined,
): Request {
  const accountId = accountIdOf(account)
  const { requestedBy, formerIssuers = [] } = terms
  return {
    accountId,
    mode,
    connectionId: terms.connectionId ?? connectionIn(mode, null),
    bookedAt: terms.bookedAt,
    row: {
      id: once?.id ?? newRoutableId(accountId),
      amount: terms.amount,
      pix_key_type: terms.pixKeyType,
      pix_key: terms.pixKey,
      dict_key: terms.dictKey,
      owner_doc: terms.ownerDoc,
      webhook_url: terms.webhookUrl,
      webhook_host: hostOf(terms.webhookUrl),
      external_id: terms.externalId,
      memo: terms.memo,
      requested_by: requestedBy,
      requesters: requestedBy ? [requestedBy, ...formerIssuers] : formerIssuers,
      trace: currentCause(),
      ...auditValues(terms.by),
      ...keyValues(once),
      ...(typeof account !== 'string' && 'proven' in account && account.proven),
    },
  }
}

/** One text for any number of requests, so that each connection plans it once. */
const INSERT = insertSql('{}').text

const insertShared = createBatcher<Request, Outcome>({
  run: async requests => {
    const values = [serializeRequests(requests)]
    const outcomes = await retryOnConflict(() => queryText<Outcome>(INSERT, values))
    return requests.map(request => outcomeOf(request, outcomes))
  },
  queueOf: ({ accountId, mode, connectionId, bookedAt }) =>
    `${accountId} ${mode} ${connectionId} ${bookedAt?.getTime()}`,
  keyOf: ({ row }) => row.id,
  batchMax: SHARED_MAX,
})

function outcomeOf({ row }: Request, outcomes: Outcome[]): Outcome {
  const outcome = outcomes.find(({ id }) => id === row.id)
  if (!outcome) throw new Invariant(`the statement that inserts withdrawals omitted ${row.id}`)
  return outcome
}

/** Serializes requests that can share a statement. */
function serializeRequests(requests: Request[]): string {
  const [{ accountId, mode, connectionId, bookedAt }] = requests as [Request]
  return JSON.stringify({
    account_id: accountId,
    mode,
    connection_id: connectionId,
    booked_at: bookedAt,
    first_id: idLowerBoundAt((bookedAt?.getTime() ?? Date.now()) - DAY_MAX_MS),
    requests: requests.map(({ row }) => row),
  })
}

/** The books are locked before the rows: whoever waits for them has stored nothing yet. */
function insertSql(requests: string): Prisma.Sql {
  return Prisma.sql`WITH ${joinCtes({
    given: Prisma.sql`
      SELECT g.account_id, g.mode, g.connection_id, g.booked_at, COALESCE(g.booked_at, now()) AS created_at,
        g.first_id, g.requests
      FROM json_to_record(${requests}::json) AS g (account_id uuid, mode text, connection_id uuid,
        booked_at timestamptz, first_id uuid, requests json)`,
    asked: Prisma.sql`
      SELECT g.account_id, g.mode, g.connection_id, g.booked_at, g.created_at, r.*
      FROM given g CROSS JOIN LATERAL json_to_recordset(g.requests) AS r (id uuid, amount bigint,
        pix_key_type text, pix_key text, dict_key text, owner_doc text, webhook_url text, webhook_host text,
        external_id text, memo text, requested_by uuid, requesters uuid[], trace text, ${auditColumns}, ${keyColumns},
        ${provenColumns})`,
    judged: Prisma.sql`
      SELECT j.* FROM given g CROSS JOIN LATERAL troco_judge_withdrawals(g.account_id, g.mode, g.connection_id,
        g.created_at, ${homeZone}, g.first_id, g.requests,
        ARRAY(SELECT s.id FROM asked s WHERE NOT ${isProvenSql()})) j`,
    accepted: Prisma.sql`
      SELECT s.*, n.* FROM (
        SELECT a.*, j.day_sum FROM judged j JOIN asked a ON a.id = j.request_id WHERE j.refusal IS NULL OFFSET 0) s
      CROSS JOIN LATERAL (${approvalSql}) n`,
    kept: storeKeysSql('accepted'),
    unlocked: unlockKeysSql('accepted'),
    made: Prisma.sql`
      INSERT INTO withdrawals (account_id, id, mode, connection_id, status, amount, pix_key_type, pix_key,
        dict_key, owner_doc, webhook_url, webhook_host, external_id, memo, requested_by, trace, ${approvalColumns},
        created_at)
      SELECT s.account_id, s.id, s.mode, s.connection_id, 'pending', s.amount, s.pix_key_type, s.pix_key,
        s.dict_key, s.owner_doc, s.webhook_url, s.webhook_host, s.external_id, s.memo, s.requested_by, s.trace,
        s.approval_reason, s.approval_due_at, s.approval_barred, s.created_at
      FROM accepted s
      RETURNING *`,
    ordered: insertOrderSql(['withdrawal', 'payout'], Prisma.sql`made s`, {
      target: Prisma.sql`s.dict_key`,
      ownerDoc: Prisma.sql`s.owner_doc`,
      trace: Prisma.sql`s.trace`,
      isHeld: Prisma.sql`s.approval_reason IS NOT NULL`,
    }),
    audited: recordActions('withdrawal.requested', 2, 'accepted', Prisma.sql`s.by IS NOT NULL`),
    waiting_noted: recordActions(
      'withdrawal.approval_requested',
      1,
      'accepted',
      Prisma.sql`s.approval_reason IS NOT NULL`,
    ),
    source: Prisma.sql`SELECT s.account_id, s.mode, s.id, s.amount, s.booked_at FROM accepted s`,
    booked: bookSql('withdrawal_held'),
  })}
  SELECT json_build_object('id', j.request_id, 'refusal', j.refusal,
    'made', CASE WHEN w.id IS NOT NULL THEN ${withdrawalAsJson} END)::text AS json
  FROM judged j LEFT JOIN made w ON w.id = j.request_id CROSS JOIN booked`
}

async function refusalError(refusal: Refusal | null, request: Request): Promise<Error> {
  switch (refusal?.code) {
    case 'caller_changed':
      return callerChanged()
    case 'idempotency_key_used':
      return keyIsStored()
    case 'insufficient_balance':
      return refuseWithdrawal(request.accountId, request.mode)
    case 'external_id_used':
      return refuse('external_id_used')
    case 'limit_exceeded': {
      const { name, amount, frees_at } = refusal
      return refuse('limit_exceeded', {
        limit: { name, amount, freesAt: frees_at ? new Date(frees_at) : null },
      })
    }
    default:
      return new Invariant(`withdrawal ${request.row.id} was neither made nor refused`)
  }
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
