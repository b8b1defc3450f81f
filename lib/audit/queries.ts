import { matchActions } from '#lib/audit/actions.ts'
import type { AuditLine, StaffAuditFilters } from '#lib/audit/schema.ts'
import { lowerAscii } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'
import { Prisma, type Tx } from '#lib/db/client.ts'
import { filterSql, idOf, type Page, readPage, walkPages } from '#lib/db/page.ts'
import { asJson, queryRows, utc } from '#lib/db/sql.ts'

/** Staff of the operator read all rows, members only those of their account. */
export type AuditReader = { staff: true } | { staff: false; accountId: string }

type AuditQuery = StaffAuditFilters & { cursor?: string; limit: number }

interface StoredLine extends Omit<AuditLine, 'actor' | 'account'> {
  actor_type: 'user' | 'token' | 'command_line' | 'system'
  actor_id: string | null
  account_id: string | null
}

/** Account, action, actor and period use indexes; other filters scan from the newest row. */
export async function listAudit(reader: AuditReader, query: AuditQuery): Promise<Page<AuditLine>> {
  const { limit, cursor, created_from, created_to, action } = query
  const actions = action === undefined ? null : (matchActions(action) ?? [])
  // One condition for the whole group: a query per action would scan past all other rows each time.
  const actionCondition = actions
    ? Prisma.sql`r.action = ANY(${actions}::text[])`
    : Prisma.sql`true`
  const page = await readPage<StoredLine>(
    Prisma.sql`
      SELECT ${lineAsJson}::text AS json FROM audit_log r
      WHERE ${actionCondition} AND ${await buildConditions(reader, query)}
        ${filterSql('r', { cursor, created_from, created_to })}
      ORDER BY r.id DESC LIMIT ${limit + 1}`,
    limit,
  )
  return { ...page, rows: await nameActors(reader, page.rows), cursorOf: idOf }
}

export function walkAudit(
  reader: AuditReader,
  filters: StaffAuditFilters,
  limit: number,
): AsyncGenerator<AuditLine[]> {
  return walkPages(cursor => listAudit(reader, { ...filters, cursor, limit }))
}

const lineAsJson = asJson(Prisma.sql`
  r.id, ${utc('r.created_at')}, r.action, r.target, r.reason, r.before, r.after, r.ip, r.request_id,
  r.actor_type, r.actor_id, r.account_id`)

/** Adds the names of actors and accounts; hides from a merchant who of the operator's staff acted. */
async function nameActors(reader: AuditReader, lines: StoredLine[]): Promise<AuditLine[]> {
  const [findPerson, accountNames, tokenNames] = await Promise.all([
    readPeople(lines.map(line => [line.account_id, line.actor_id])),
    readAccountNames(lines.flatMap(({ account_id }) => account_id ?? [])),
    readTokenNames(lines.filter(({ actor_type }) => actor_type === 'token')),
  ])
  return lines.map(({ actor_type, actor_id, account_id, ip, request_id, ...line }) => {
    const person = findPerson(account_id, actor_id)
    const isHidden = !reader.staff && person?.isOperator === true
    const name = account_id === null ? undefined : accountNames.get(account_id)
    const kind = actor_type !== 'user' ? actor_type : isHidden ? 'operator' : 'person'
    return {
      ...line,
      actor: isHidden
        ? { kind, id: null, name: null, email: null }
        : {
            kind,
            id: actor_id,
            email: person?.email ?? null,
            name: person?.name ?? tokenNames.get(actor_id ?? '') ?? null,
          },
      account: account_id !== null && name !== undefined ? { id: account_id, name } : null,
      ip: isHidden ? null : ip,
      request_id: isHidden ? null : request_id,
    }
  })
}

async function readAccountNames(ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await queryRows<{ id: string; name: string }>(Prisma.sql`
    SELECT json_build_object('id', a.id, 'name', a.name)::text AS json FROM accounts a
    WHERE a.id = ANY(${[...new Set(ids)]}::uuid[])`)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

async function readTokenNames(lines: StoredLine[]): Promise<Map<string, string>> {
  if (lines.length === 0) return new Map()
  const [accountIds, ids] = [lines.map(one => one.account_id), lines.map(one => one.actor_id)]
  const rows = await queryRows<{ id: string; name: string }>(Prisma.sql`
    SELECT DISTINCT json_build_object('id', t.id, 'name', t.name)::text AS json
    FROM unnest(${accountIds}::uuid[], ${ids}::uuid[]) k (account_id, id)
    JOIN tokens t USING (account_id, id)`)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** A merchant cannot filter by values that the list hides from them. */
async function buildConditions(
  reader: AuditReader,
  { account, actor, target, q }: AuditQuery,
): Promise<Prisma.Sql> {
  const accountId = reader.staff ? account : reader.accountId
  const conditions = [Prisma.sql`true`]
  if (accountId) conditions.push(Prisma.sql`r.account_id = ${accountId}::uuid`)
  if (actor) conditions.push(await actorCondition(actor))
  if (target) conditions.push(Prisma.sql`r.target = ${target}`)
  if (q) conditions.push(Prisma.sql`(r.request_id = ${q} OR r.ip = ${q})`)
  if (!reader.staff && (actor || q)) {
    const operators = await listOperators(reader.accountId)
    conditions.push(Prisma.sql`(r.actor_id IS NULL OR r.actor_id <> ALL(${operators}::uuid[]))`)
  }
  return Prisma.join(conditions, ' AND ')
}

async function actorCondition(actor: string): Promise<Prisma.Sql> {
  if (actor === 'system' || actor === 'command_line') return Prisma.sql`r.actor_type = ${actor}`
  const id = isUuid(actor) ? actor : await findUserId(actor)
  return Prisma.sql`r.actor_id = ${id}::uuid`
}

async function findUserId(email: string): Promise<string | null> {
  const [user] = await queryRows<{ id: string }>(Prisma.sql`
    SELECT json_build_object('id', u.id)::text AS json FROM users u
    WHERE u.email = ${lowerAscii(email)}`)
  return user?.id ?? null
}

/** Admins who are no members of the account: merchants see only "operator". They are few. */
async function listOperators(accountId: string): Promise<string[]> {
  const rows = await queryRows<{ id: string }>(Prisma.sql`
    SELECT json_build_object('id', o.id)::text AS json FROM users o
    WHERE o.is_admin AND NOT EXISTS (SELECT FROM memberships m
      WHERE m.account_id = ${accountId}::uuid AND m.user_id = o.id)`)
  return rows.map(({ id }) => id)
}

/** A user as the members of an account see them. */
export interface Person {
  id: string
  name: string
  email: string
  /** Staff who are also members of the account count as members. */
  isOperator: boolean
  /** Role in the account; null for others than its members. */
  role: string | null
}

/** A user in an account; null for an action that concerns none. */
type PersonKey = readonly [accountId: string | null, userId: string | null]

/**
 * Reads the users whose ids rows of the account's side contain, all with one statement. Returns a
 * function that finds each; nothing for an unknown id.
 */
export async function readPeople(
  keys: readonly PersonKey[],
  tx?: Tx,
): Promise<(...key: PersonKey) => Person | undefined> {
  const wanted = new Map(keys.filter(([, userId]) => userId !== null).map(key => [key.join(), key]))
  const [accountIds, userIds] = [0, 1].map(part => [...wanted.values()].map(key => key[part]))
  const columns = Prisma.sql`u.id, u.name, u.email, m.role,
    u.is_admin AND m.user_id IS NULL AS "isOperator", k.account_id AS "accountId"`
  const rows =
    wanted.size === 0
      ? []
      : await queryRows<Person & { accountId: string | null }>(
          Prisma.sql`
            SELECT ${asJson(columns)}::text AS json
            FROM unnest(${accountIds}::uuid[], ${userIds}::uuid[]) AS k (account_id, user_id)
            JOIN users u ON u.id = k.user_id
            LEFT JOIN memberships m ON m.account_id = k.account_id AND m.user_id = u.id`,
          tx,
        )
  const found = new Map(rows.map(({ accountId, ...one }) => [[accountId, one.id].join(), one]))
  return (...key) => found.get(key.join())
}
