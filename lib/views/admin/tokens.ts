import { Prisma } from '#lib/base/db/client.ts'
import { idOf, type Page, toPage } from '#lib/base/db/page.ts'
import { queryRows } from '#lib/base/db/rows.ts'
import { exceedsIssuerCondition } from '#lib/rooms/tokens/authority.ts'
import { tokenAsJson } from '#lib/rooms/tokens/queries.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/rooms/tokens/status.ts'
import { accountSearchCondition } from '#lib/views/admin/accounts.ts'
import type { Finding, TOKEN_FILTERS, TokenLine } from '#lib/views/admin/schema.ts'

const PAGE_SIZE = 25
/** Length of the stored prefix. */
const PREFIX_MAX = 20
const PREFIX_FORMAT = /^troco_(test|live)_[0-9A-Za-z]{4,}$/
const LAST_FOUR_FORMAT = /^[0-9A-Za-z]{4}$/

export interface TokensQuery {
  q?: string
  status?: (typeof TOKEN_FILTERS)[number]
  cursor?: string
}

export async function listTokenLines(query: TokensQuery): Promise<Page<TokenLine>> {
  const { cursor } = query
  const after = cursor ? Prisma.sql`AND t.id < ${cursor}::uuid` : Prisma.empty
  return toPage(
    await readTokenLines(Prisma.sql`
      ${tokenSearchCondition(query.q)} AND ${statusCondition(query.status)} ${after}
      ORDER BY t.id DESC LIMIT ${PAGE_SIZE + 1}`),
    PAGE_SIZE,
    idOf,
  )
}

const SHOWN_MAX = 100
const NAMED_MAX = 5

export function listTokensOf(accountId: string): Promise<TokenLine[]> {
  return readTokenLines(Prisma.sql`
    t.account_id = ${accountId}::uuid ORDER BY ${activeTokenCondition} DESC, t.id DESC LIMIT ${SHOWN_MAX}`)
}

async function readTokenLines(conditionSql: Prisma.Sql): Promise<TokenLine[]> {
  const rows = await queryRows<TokenLine & { token: object }>(Prisma.sql`
    SELECT json_build_object('token', ${tokenAsJson}, 'mode', t.mode, 'account_id', t.account_id,
      'account_name', a.name)::text AS json
    FROM tokens t JOIN accounts a ON a.id = t.account_id WHERE ${conditionSql}`)
  return rows.map(({ token, ...account }) => ({ ...token, ...account }))
}

/** Matches a token by its first or last characters, or by its account. */
function tokenSearchCondition(q: string | undefined): Prisma.Sql {
  if (!q) return Prisma.sql`true`
  if (PREFIX_FORMAT.test(q)) return Prisma.sql`starts_with(t.prefix, ${q.slice(0, PREFIX_MAX)})`
  const lastFour = LAST_FOUR_FORMAT.test(q) ? q : null
  return Prisma.sql`(t.last_four = ${lastFour} OR ${accountSearchCondition(q)})`
}

function statusCondition(status: TokensQuery['status']): Prisma.Sql {
  if (status === undefined) return Prisma.sql`true`
  return status === 'in_force' ? activeTokenCondition : Prisma.sql`${tokenStatusSql} = ${status}`
}

/** Checks that every active token stays within the present role of its issuer. */
export async function examineTokens(): Promise<Finding> {
  const [found] = await queryRows<{ exceeding: number; names: string | null }>(Prisma.sql`
    SELECT json_build_object('exceeding', count(*), 'names',
      string_agg(name, ', ') FILTER (WHERE place <= ${NAMED_MAX}))::text AS json
    FROM (SELECT t.name || ' (' || a.name || ')' AS name, row_number() OVER (ORDER BY t.id) AS place
      FROM tokens t JOIN accounts a ON a.id = t.account_id
      WHERE ${activeTokenCondition} AND ${exceedsIssuerCondition}) e`)
  const { exceeding, names } = found ?? { exceeding: 0, names: null }
  return exceeding === 0
    ? { level: 'ok', state: 'tokens_covered', figures: {} }
    : { level: 'warning', state: 'tokens_exceed', figures: { exceeding, names: names ?? '' } }
}
