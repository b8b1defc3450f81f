import { readPeople } from '#lib/audit/queries.ts'
import { readClosures } from '#lib/banks/closures.ts'
import { CHECK_PASSED, type CheckResult } from '#lib/banks/connections.ts'
import { findingLevelOf, type GatewayResult } from '#lib/banks/gateway.ts'
import type { KeyNotices } from '#lib/banks/notices.ts'
import { findBank } from '#lib/banks/served.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { cents } from '#lib/core/money.ts'
import { maskDictKey } from '#lib/core/pix/pix-key.ts'
import { env } from '#lib/core/settings.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import type {
  BankChecked,
  BankDetail,
  BankLine,
  BankMoney,
  NoticesRegistered,
  SettingsCorrected,
} from '#lib/operator/banks/schema.ts'
import { type ConnectionHealth, readState, readTraffic } from '#lib/operator/gateways.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'

interface Row extends Pick<BankLine, 'id' | 'name' | 'kind' | 'environment' | 'checked_at'> {
  check_code: string | null
  is_closed: boolean
  accounts: number
}

/** Lists the connections to banks, open ones first, by name. Calls no bank. */
export async function listBankLines(id?: string): Promise<BankLine[]> {
  const condition = id === undefined ? Prisma.empty : Prisma.sql`AND n.id = ${id}::uuid`
  const rows = await queryRows<Row>(Prisma.sql`
    SELECT json_build_object('id', n.id, 'name', n.name, 'kind', n.kind,
      'environment', n.environment, 'checked_at', ${utcText('n.checked_at')},
      'check_code', n.check_code, 'is_closed', n.disabled_at IS NOT NULL,
      'accounts', (SELECT count(*) FROM accounts a
        WHERE n.id IN (a.receiving_connection_id, a.paying_connection_id)))::text AS json
    FROM connections n WHERE n.kind <> 'simulator' ${condition}
    ORDER BY n.disabled_at IS NOT NULL, n.name`)
  return Promise.all(rows.map(readLine))
}

async function readLine({ check_code, is_closed, ...row }: Row): Promise<BankLine> {
  const [gateway, health, traffic] = await Promise.all([
    findBank(row.id),
    readState(row.id),
    readTraffic(row.id),
  ])
  const { calls, failed, p50_ms, p95_ms } = traffic
  return {
    ...row,
    state: is_closed ? 'closed' : gateway ? stateOf(check_code, health) : 'unserved',
    blocks: health.blocks,
    certificate_ends_at: gateway?.certificateEndsAt?.toISOString() ?? null,
    latency: p50_ms === null || p95_ms === null ? null : { calls, failed, p50_ms, p95_ms },
  }
}

function stateOf(checkCode: string | null, { rest_s, blocks }: ConnectionHealth) {
  if (checkCode === null) return 'unchecked'
  if (checkCode !== CHECK_PASSED) return 'failed'
  if (rest_s !== null) return 'resting'
  return blocks.length > 0 ? 'blocked' : 'open'
}

/** Ledgers of what a merchant owns: also what is held for payouts, refunds and disputes. */
const OWNED = Prisma.sql`l.mode = 'live' AND l.ledger IN ('available', 'outbound', 'disputed')`

/** Returns what all merchants own in live mode, in cents. */
export async function sumOwned(): Promise<number> {
  const [row] = await db().$queryRaw<{ owned: bigint }[]>`
    SELECT COALESCE(sum(l.balance), 0)::bigint AS owned FROM ledger_accounts l
    WHERE ${OWNED} AND l.account_id <> ${OPERATOR_ACCOUNT_ID}::uuid`
  return Number(row?.owned ?? 0n)
}

/** Returns what accounts own that pay out through the connection, without what they have sent there. */
async function sumOwnedThrough(connectionId: string): Promise<number> {
  const sent = Prisma.sql`(
    SELECT COALESCE(sum(o.amount), 0) FROM bank_orders o JOIN accounts a ON a.id = o.account_id
    WHERE o.connection_id = ${connectionId}::uuid AND o.due_at IS NOT NULL
      AND o.sent_at IS NOT NULL AND a.paying_connection_id = ${connectionId}::uuid)`
  const [row] = await db().$queryRaw<{ owned: bigint }[]>`
    SELECT GREATEST(0, (SELECT COALESCE(sum(l.balance), 0) FROM ledger_accounts l
        JOIN accounts a ON a.id = l.account_id
        WHERE ${OWNED} AND a.paying_connection_id = ${connectionId}::uuid)
      - ${sent})::bigint AS owned`
  return Number(row?.owned ?? 0n)
}

/** Refuses an id that is no connection to a bank. */
export async function requireBank(id: string): Promise<void> {
  const where = { id, kind: { not: 'simulator' } }
  if (isUuid(id) && (await db().connection.count({ where })) > 0) return
  throw refuse('connection_not_found')
}

/** Reads what the page of a connection shows; null if there is none. Calls no bank. */
export async function readBank(id: string): Promise<BankDetail | null> {
  if (!isUuid(id)) return null
  const [[line], row, assigned, openWork, gateway, closure] = await Promise.all([
    listBankLines(id),
    db().connection.findUnique({ where: { id } }),
    listAssigned(id),
    countOpenWork(id),
    findBank(id),
    readClosure(id),
  ])
  if (!line || !row) return null
  const { profile, createdAt, receivingKeys, payingKey, payoutMax, payoutDayMax, settings } = row
  const { api_url: apiUrl } = settings as { api_url?: unknown }
  return {
    ...line,
    profile,
    api_host: typeof apiUrl === 'string' ? (URL.parse(apiUrl)?.host ?? null) : null,
    created_at: createdAt.toISOString(),
    receiving_keys: receivingKeys.map(maskDictKey),
    paying_key: payingKey === null ? null : maskDictKey(payingKey),
    limits: { payout_max: amountOf(payoutMax), payout_day_max: amountOf(payoutDayMax) },
    can: {
      correct_settings: gateway?.checkSettings !== undefined && receivingKeys.length > 0,
      register_notices:
        gateway?.registerWebhook !== undefined && env().PUBLIC_URL.startsWith('https:'),
    },
    assigned,
    closure,
    open_work: openWork,
  }
}

async function readClosure(id: string): Promise<BankDetail['closure']> {
  const closure = (await readClosures(id)).get(id)
  if (!closure) return null
  const { restoredTo, paymentsUntil, refundsUntil, payoutsUntil, unsettled, held } = closure
  const { isUnlisted, proposal } = closure
  const findPerson = await readPeople(proposal ? [[null, proposal.by]] : [])
  return {
    restored_to: restoredTo,
    unsettled,
    held,
    is_unlisted: isUnlisted,
    until: { payments: paymentsUntil, refunds: refundsUntil, payouts: payoutsUntil },
    proposal: proposal && {
      id: proposal.id,
      reason: proposal.reason,
      by: findPerson(null, proposal.by)?.name ?? null,
    },
  }
}

function amountOf(stored: bigint | null): number | null {
  return stored === null ? null : cents(stored)
}

async function listAssigned(id: string): Promise<BankDetail['assigned']> {
  const accounts = await db().account.findMany({
    where: { OR: [{ receivingConnectionId: id }, { payingConnectionId: id }] },
    orderBy: [{ name: 'asc' }, { id: 'asc' }],
  })
  return accounts.map(({ id: accountId, name, receivingConnectionId, payingConnectionId }) => ({
    id: accountId,
    name,
    receives: receivingConnectionId === id,
    pays: payingConnectionId === id,
  }))
}

/** Asks the bank for its balance, and explains it. */
export async function readBankMoney(id: string): Promise<BankMoney> {
  await requireBank(id)
  const [balance, owned] = await Promise.all([readConnectionBalance(id), sumOwnedThrough(id)])
  return { ...balance, books: balance.terms.books, owned }
}

/** Adds the level of each finding, which decides how pages show it. */
export function serializeCheck({ code, findings }: CheckResult): BankChecked {
  return { code, findings: findings.map(each => ({ ...each, level: findingLevelOf(each) })) }
}

/** Null: the bank has no such settings. */
export function serializeSettings(result: GatewayResult<string[]> | null): SettingsCorrected {
  if (result === null) throw refuse('not_supported', 'This bank has no such settings')
  return { settings: result.outcome === 'ok' ? result.value : [], refusal: refusalOf(result) }
}

/** Null: the bank sends no notices. */
export function serializeNotices(result: GatewayResult<KeyNotices[]> | null): NoticesRegistered {
  if (result === null) throw refuse('not_supported', 'This bank sends no notices')
  const keys = result.outcome === 'ok' ? result.value : []
  return {
    keys: keys.map(each => ({ ...each, key: maskDictKey(each.key) })),
    refusal: refusalOf(result),
  }
}

/** Returns why a bank refused; null if it did not. */
function refusalOf(result: GatewayResult<unknown>): string | null {
  if (result.outcome === 'ok') return null
  return ('reason' in result ? result.reason : result.bankText) ?? result.outcome
}

export interface OpenWork {
  charges: number
  withdrawals: number
  /** Withdrawals that wait for an approval, which are among them. */
  unapproved: number
  refunds: number
}

/** Counts what began at a connection and has not ended there. */
export async function countOpenWork(connectionId: string): Promise<OpenWork> {
  // What is open is due or waits for an approval: the rest of the tables is not read.
  const [counts] = await db().$queryRaw<OpenWork[]>`
    SELECT c.charges, o.withdrawals + w.unapproved AS withdrawals, w.unapproved, o.refunds
    FROM
      (SELECT count(*)::int AS charges
        FROM charges WHERE connection_id = ${connectionId}::uuid AND status IN ('opening', 'pending')
          AND due_at IS NOT NULL) c,
      (SELECT count(*)::int AS unapproved FROM withdrawals
        WHERE connection_id = ${connectionId}::uuid AND approval_due_at IS NOT NULL) w,
      (SELECT count(*) FILTER (WHERE kind = 'withdrawal')::int AS withdrawals,
          count(*) FILTER (WHERE kind = 'refund')::int AS refunds
        FROM bank_orders WHERE connection_id = ${connectionId}::uuid AND due_at IS NOT NULL) o`
  return counts ?? { charges: 0, withdrawals: 0, unapproved: 0, refunds: 0 }
}
