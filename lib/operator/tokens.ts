import { readPeople } from '#lib/audit/queries.ts'
import { idLowerBoundAt } from '#lib/core/ids.ts'
import { Prisma } from '#lib/db/client.ts'
import { idOf, type Page, toPage } from '#lib/db/page.ts'
import { asJson, queryRows } from '#lib/db/sql.ts'
import { accountSearchCondition, accountSubjects } from '#lib/operator/accounts.ts'
import type { Finding, TOKEN_FILTERS, TokenLine } from '#lib/operator/schema.ts'
import { activeTokenCondition, tokenStatusSql } from '#lib/tokens/authenticate.ts'
import { exceedsIssuer } from '#lib/tokens/issue.ts'
import { readTokens, tokenAsJson } from '#lib/tokens/queries.ts'
import type { Permission } from '#lib/tokens/schema.ts'

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
      ${await tokenSearchCondition(query.q)} AND ${statusCondition(query.status)} ${after}
      ORDER BY t.id DESC LIMIT ${PAGE_SIZE + 1}`),
    PAGE_SIZE,
    idOf,
  )
}

const SHOWN_MAX = 100
const NAMED_MAX = 5
/** Busiest tokens that are named, and the time in which their requests count. */
const BUSY_NAMED_MAX = 3
const BUSY_WITHIN_MS = 5 * 60_000
/** Tokens per statement of the check. */
const EXAMINED_MAX = 5_000

export function listTokensOf(accountId: string): Promise<TokenLine[]> {
  return readTokenLines(Prisma.sql`
    t.account_id = ${accountId}::uuid ORDER BY ${activeTokenCondition} DESC, t.id DESC LIMIT ${SHOWN_MAX}`)
}

async function readTokenLines(conditionSql: Prisma.Sql): Promise<TokenLine[]> {
  const tokens = await readTokens(Prisma.sql`
    SELECT ${tokenAsJson}::text AS json FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE ${conditionSql}`)
  return tokens.map(({ token, mode, account }) => ({
    ...token,
    mode,
    account_id: account.id,
    account_name: account.name,
  }))
}

/** Matches a token by its first or last characters, or by its account. */
async function tokenSearchCondition(q: string | undefined): Promise<Prisma.Sql> {
  if (!q) return Prisma.sql`true`
  if (PREFIX_FORMAT.test(q)) return Prisma.sql`starts_with(t.prefix, ${q.slice(0, PREFIX_MAX)})`
  const lastFour = LAST_FOUR_FORMAT.test(q) ? q : null
  return Prisma.sql`(t.last_four = ${lastFour} OR ${await accountSearchCondition(q)})`
}

function statusCondition(status: TokensQuery['status']): Prisma.Sql {
  if (status === undefined) return Prisma.sql`true`
  return status === 'in_force' ? activeTokenCondition : Prisma.sql`${tokenStatusSql} = ${status}`
}

interface ExaminedToken {
  id: string
  accountId: string
  account: string
  name: string
  issuedBy: string
  permissions: Permission[]
}

/** Checks that every active token stays within the present role of its issuer. */
export async function examineTokens(batchMax = EXAMINED_MAX): Promise<Finding> {
  const named: ExaminedToken[] = []
  let exceeding = 0
  let batch: ExaminedToken[]
  for (let last: ExaminedToken | undefined; ; last = batch.at(-1)) {
    batch = await readExamined(last, batchMax)
    const findPerson = await readPeople(batch.map(token => [token.accountId, token.issuedBy]))
    const found = batch.filter(token =>
      exceedsIssuer(token, findPerson(token.accountId, token.issuedBy)?.role),
    )
    exceeding += found.length
    named.push(...found.slice(0, NAMED_MAX - named.length))
    if (batch.length < batchMax) break
  }
  const busiest = (await readBusiestTokens()) || 'none'
  if (exceeding === 0) return { level: 'ok', state: 'tokens_covered', figures: { busiest } }
  const names = named.map(({ name, account }) => `${name} (${account})`).join(', ')
  const subjects = accountSubjects(named.map(({ accountId: id, account: name }) => ({ id, name })))
  return {
    level: 'warning',
    state: 'tokens_exceed',
    figures: { exceeding, names, busiest },
    subjects,
  }
}

/**
 * Names the tokens with the most requests of the last five minutes in the log of requests. The log stores
 * at most 100 requests per second of an account and process, so a token that floods may send more.
 */
async function readBusiestTokens(): Promise<string> {
  const since = Date.now() - BUSY_WITHIN_MS
  const tokens = await queryRows<{ name: string; account: string; requests: number }>(Prisma.sql`
    SELECT json_build_object('name', t.name, 'account', a.name, 'requests', r.requests)::text AS json
    FROM accounts a CROSS JOIN LATERAL (
      SELECT l.token_id, count(*)::int AS requests FROM request_log l
      WHERE l.account_id = a.id AND l.id >= ${idLowerBoundAt(since)}::uuid
        AND l.created_at >= ${new Date(since)}
      GROUP BY l.token_id ORDER BY 2 DESC LIMIT ${BUSY_NAMED_MAX}) r
    JOIN tokens t ON t.account_id = a.id AND t.id = r.token_id
    ORDER BY r.requests DESC LIMIT ${BUSY_NAMED_MAX}`)
  return tokens.map(token => `${token.name} (${token.account}) ${token.requests}`).join(', ')
}

/** Reads active tokens of members, in the order of the primary key, after the token `last`. */
function readExamined(last: ExaminedToken | undefined, limit: number): Promise<ExaminedToken[]> {
  const columns = Prisma.sql`t.id, t.account_id AS "accountId", t.permissions,
    t.name, a.name AS account, t.issued_by AS "issuedBy"`
  const after = last
    ? Prisma.sql`AND (t.account_id, t.id) > (${last.accountId}::uuid, ${last.id}::uuid)`
    : Prisma.empty
  return queryRows<ExaminedToken>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM tokens t JOIN accounts a ON a.id = t.account_id
    WHERE ${activeTokenCondition} AND t.issued_by IS NOT NULL ${after}
    ORDER BY t.account_id, t.id LIMIT ${limit}`)
}
