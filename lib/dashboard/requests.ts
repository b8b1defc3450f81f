import { isObject } from '#lib/core/fields.ts'
import { isUuid, smallestIdAt } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { LoggedRequest, RequestDetail, RequestsQuery } from '#lib/dashboard/requests/schema.ts'
import { Prisma } from '#lib/db/client.ts'
import { type Page, readPage, sqlIfDefined } from '#lib/db/page.ts'
import { asJson, onPrimary, queryRows, utc } from '#lib/db/sql.ts'

/** What the log of requests stores instead of a value that may be personal. */
export const MASKED = '***'

/** Returns the names of the fields of a body whose value is masked, each once. */
export function namesOfMasked(body: unknown): string[] {
  return [...new Set(namesIn(body))]
}

function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(namesIn)
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && inner.includes(MASKED) ? [name] : namesIn(inner),
  )
}

/** Partitions are dropped as a whole, up to a day later. */
const SHOWN_MS = 7 * 86_400_000

const columns = Prisma.sql`
  r.id, ${utc('r.created_at')}, r.mode, r.method, r.path, r.resource_id, r.status, r.code,
  round(r.duration_us / 1000.0, 1) AS duration_ms, r.request_id, r.token_id, t.name AS token_name`
const bodies = Prisma.sql`r.request_body, r.request_bytes, r.response_body, r.response_bytes`

/** An account's requests of the last 7 days. Ids begin with the time, so they name partitions. */
function shownCondition(accountId: string, mode: Mode): Prisma.Sql {
  return Prisma.sql`${onPrimary} AND r.account_id = ${accountId}::uuid AND r.mode = ${mode}
    AND r.id >= ${smallestIdAt(Date.now() - SHOWN_MS)}::uuid`
}

function selectRequests(selected: Prisma.Sql, accountId: string, mode: Mode): Prisma.Sql {
  return Prisma.sql`
    SELECT ${asJson(selected)}::text AS json FROM request_log r
    JOIN tokens t ON t.account_id = r.account_id AND t.id = r.token_id
    WHERE ${shownCondition(accountId, mode)}`
}

export function listRequests(
  accountId: string,
  mode: Mode,
  query: RequestsQuery,
): Promise<Page<LoggedRequest>> {
  const { cursor, created_from: from, created_to: to, method, path, token_id, code, limit } = query
  const [lowest, highest] = statusRange(query.status)
  const rows = Prisma.sql`${selectRequests(columns, accountId, mode)}
    ${sqlIfDefined(query.status, Prisma.sql`AND r.status BETWEEN ${lowest} AND ${highest}`)}
    ${sqlIfDefined(method, Prisma.sql`AND r.method = ${method}`)}
    ${sqlIfDefined(path, Prisma.sql`AND r.path = ${path}`)}
    ${sqlIfDefined(token_id, Prisma.sql`AND r.token_id = ${token_id}::uuid`)}
    ${sqlIfDefined(code, Prisma.sql`AND r.code = ${code}`)}
    ${sqlIfDefined(cursor, Prisma.sql`AND r.id < ${cursor}::uuid`)}
    ${sqlIfDefined(from, Prisma.sql`AND r.created_at >= ${from}::timestamptz`)}
    ${sqlIfDefined(to, Prisma.sql`AND r.created_at < ${to}::timestamptz`)}
    ORDER BY r.id DESC LIMIT ${limit + 1}`
  return readPage<LoggedRequest>(rows, limit)
}

export async function findRequest(
  accountId: string,
  mode: Mode,
  id: string,
): Promise<RequestDetail | null> {
  if (!isUuid(id)) return null
  const selected = Prisma.sql`${columns}, ${bodies}`
  const [row] = await queryRows<RequestDetail>(Prisma.sql`
    ${selectRequests(selected, accountId, mode)} AND r.id = ${id}::uuid`)
  return row ?? null
}

/** Returns the paths and error codes that an account's requests have, sorted. */
export async function listRequestKinds(accountId: string, mode: Mode) {
  const rows = await queryRows<Pick<LoggedRequest, 'path' | 'code'>>(Prisma.sql`
    SELECT json_build_object('path', k.path, 'code', k.code)::text AS json FROM (
      SELECT DISTINCT r.path, r.code FROM request_log r WHERE ${shownCondition(accountId, mode)}) k`)
  const codes = rows.flatMap(({ code }) => code ?? [])
  return {
    paths: [...new Set(rows.map(({ path }) => path))].sort(),
    codes: [...new Set(codes)].sort(),
  }
}

function statusRange(status = 'failed'): [number, number] {
  if (status === 'failed') return [400, 599]
  const [first] = status
  if (status.endsWith('xx')) return [Number(`${first}00`), Number(`${first}99`)]
  return [Number(status), Number(status)]
}
