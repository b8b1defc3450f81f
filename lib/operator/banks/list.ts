import { CHECK_PASSED } from '#lib/banks/connections.ts'
import { findBank } from '#lib/banks/served.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { queryRows, utcText } from '#lib/db/sql.ts'
import type { BankLine } from '#lib/operator/banks/schema.ts'
import { type ConnectionHealth, readState, readTraffic } from '#lib/operator/gateways.ts'

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
    ...([findBank(row.id), readState(row.id), readTraffic(row.id)] as const),
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
export async function sumOwnedThrough(connectionId: string): Promise<number> {
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
