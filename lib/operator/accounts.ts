import { findAccountsOfOwner, findOwnerEmails } from '#lib/accounts/queries.ts'
import { readPeople } from '#lib/audit/queries.ts'
import { refuse } from '#lib/core/errors.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { type Page, readPage } from '#lib/db/page.ts'
import { asJson, queryRows, utcText } from '#lib/db/sql.ts'
import { assessDisputes } from '#lib/ledger/owed.ts'
import type {
  AccountDetail,
  AccountFilter,
  AccountLine,
  AccountMember,
  FoundAccount,
  PerMode,
} from '#lib/operator/schema.ts'
import type { FindingSubject } from '#lib/operator/states.ts'
import { hasSecondFactor } from '#lib/people/factors.ts'

const PAGE_SIZE = 25
const VOLUME_DAYS = 30

export interface AccountsQuery {
  q?: string
  status?: AccountFilter
  cursor?: string
}

/** Sums the paid charges of each mode. Runs only for the accounts of one page (index-only scan). */
const volume = Prisma.sql`(SELECT json_build_object(
    'test', COALESCE(sum(c.amount) FILTER (WHERE c.mode = 'test'), 0),
    'live', COALESCE(sum(c.amount) FILTER (WHERE c.mode = 'live'), 0))
  FROM charges c WHERE c.account_id = a.id AND c.mode IN ('test', 'live')
    AND c.paid_at > now() - make_interval(days => ${VOLUME_DAYS}::int))`

function ledgerBalances(name: 'available' | 'outbound' | 'disputed' | 'owed'): Prisma.Sql {
  return Prisma.sql`(SELECT json_build_object(
      'test', COALESCE(sum(l.balance) FILTER (WHERE l.mode = 'test'), 0),
      'live', COALESCE(sum(l.balance) FILTER (WHERE l.mode = 'live'), 0))
    FROM ledger_accounts l WHERE l.account_id = a.id AND l.mode IN ('test', 'live')
      AND l.ledger = ${name})`
}

/** Lists accounts, pending ones first, then the newest, after the account `cursor`. */
export async function listAccountLines(query: AccountsQuery): Promise<Page<AccountLine>> {
  const { status, cursor } = query
  const statusCondition =
    status === 'live_requested'
      ? Prisma.sql`AND a.live_requested_at IS NOT NULL AND a.status = 'active'`
      : status
        ? Prisma.sql`AND a.status = ${status}`
        : Prisma.empty
  const after = cursor
    ? Prisma.sql`AND (a.status = 'pending', a.id) <
        (SELECT c.status = 'pending', c.id FROM accounts c WHERE c.id = ${cursor}::uuid)`
    : Prisma.empty
  const searchCondition = await accountSearchCondition(query.q)
  const page = await readPage<Omit<AccountLine, 'owner_email'>>(
    Prisma.sql`
      SELECT json_build_object('id', a.id, 'name', a.name, 'status', a.status,
        'created_at', ${utcText('a.created_at')},
        'balance', ${ledgerBalances('available')}, 'volume', ${volume})::text AS json
      FROM (
        SELECT a.* FROM accounts a WHERE ${searchCondition} ${statusCondition} ${after}
        ORDER BY a.status = 'pending' DESC, a.id DESC LIMIT ${PAGE_SIZE + 1}
      ) a ORDER BY a.status = 'pending' DESC, a.id DESC`,
    PAGE_SIZE,
  )
  const ownerEmails = await findOwnerEmails(page.rows.map(({ id }) => id))
  const rows = page.rows.map(row => ({ ...row, owner_email: ownerEmails.get(row.id) ?? null }))
  return { ...page, rows }
}

/** Condition on a name, ignoring case and accents (prisma/functions/troco_fold.sql). */
export function nameCondition(name: 'a.name' | 'u.name', part: string): Prisma.Sql {
  return Prisma.sql`position(troco_fold(${part}) IN troco_fold(${Prisma.raw(name)})) > 0`
}

const FOUND_MAX = 8

/** Finds accounts by part of the name, by id or by the owner's e-mail, the newest first. */
export async function findAccounts(q: string): Promise<FoundAccount[]> {
  const rows = await queryRows<Omit<FoundAccount, 'owner_email'>>(Prisma.sql`
    SELECT json_build_object('id', a.id, 'name', a.name, 'status', a.status)::text AS json
    FROM accounts a WHERE ${await accountSearchCondition(q)} ORDER BY a.id DESC LIMIT ${FOUND_MAX}`)
  const ownerEmails = await findOwnerEmails(rows.map(({ id }) => id))
  return rows.map(row => ({ ...row, owner_email: ownerEmails.get(row.id) ?? null }))
}

/** Matches the id, or a part of the name or of an owner's e-mail. */
export async function accountSearchCondition(q: string | undefined): Promise<Prisma.Sql> {
  if (!q) return Prisma.sql`true`
  if (isUuid(q)) return Prisma.sql`a.id = ${q}::uuid`
  const owned = await findAccountsOfOwner(q)
  return Prisma.sql`(${nameCondition('a.name', q)}
    OR a.id = ANY(${owned}::uuid[]))`
}

export function countLiveRequests(): Promise<number> {
  return db().account.count({ where: { liveRequestedAt: { not: null }, status: 'active' } })
}

export function countPendingAccounts(): Promise<number> {
  return db().account.count({ where: { status: 'pending' } })
}

/** Last change of the status, from the audit log; else the account's creation. */
const statusChange = Prisma.sql`COALESCE((
  SELECT json_build_object('since', ${utcText('r.created_at')}, 'by', r.actor_id,
    'reason', a.status_reason)
  FROM audit_log r WHERE r.account_id = a.id
    AND r.action IN ('account.activated', 'account.suspended') ORDER BY r.id DESC LIMIT 1
), json_build_object('since', ${utcText('a.created_at')}, 'by', NULL, 'reason', a.status_reason))`

const memberAsJson = asJson(Prisma.sql`u.id, u.name, u.email, m.role,
  u.disabled_at IS NOT NULL AS is_disabled, ${hasSecondFactor} AS has_second_factor`)

function listMembersOf(accountId: string): Promise<AccountMember[]> {
  return queryRows<AccountMember>(Prisma.sql`
    SELECT ${memberAsJson}::text AS json FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = ${accountId}::uuid ORDER BY m.role <> 'owner', m.created_at, u.id`)
}

export async function readAccount(id: string): Promise<AccountDetail | null> {
  if (!isUuid(id)) return null
  const [[account], members, ownerEmails] = await Promise.all([
    queryRows<
      Omit<AccountDetail, 'members' | 'owner_email' | 'claim'> & { owed: PerMode }
    >(Prisma.sql`
      SELECT json_build_object('id', a.id, 'name', a.name, 'city', a.city, 'status', a.status,
        'created_at', ${utcText('a.created_at')}, 'balance', ${ledgerBalances('available')},
        'outbound', ${ledgerBalances('outbound')}, 'volume', ${volume},
        'disputed', ${ledgerBalances('disputed')}, 'owed', ${ledgerBalances('owed')},
        'limits', json_build_object('charge_max', a.charge_max,
          'withdrawal_max', a.withdrawal_max, 'night_max', a.night_max, 'day_max', a.day_max),
        'standing', ${statusChange})::text AS json
      FROM accounts a WHERE a.id = ${id}::uuid`),
    listMembersOf(id),
    findOwnerEmails([id]),
  ])
  if (!account) return null
  const { owed, ...detail } = account
  const { standing, disputed } = detail
  const findPerson = await readPeople([[id, standing.by]])
  const by = findPerson(id, standing.by)?.name ?? null
  const ownerEmail = ownerEmails.get(id) ?? null
  const claimIn = (mode: Mode) =>
    assessDisputes({ disputed: disputed[mode], owed: owed[mode] }).claim
  const claim = { test: claimIn('test'), live: claimIn('live') }
  return { ...detail, claim, owner_email: ownerEmail, members, standing: { ...standing, by } }
}

export async function readStatusChange(id: string) {
  const account = await readAccount(id)
  if (!account) throw refuse('account_not_found')
  const { since, reason, by } = account.standing
  return { id: account.id, status: account.status, since, reason, by }
}

export function accountSubjects(accounts: { id: string; name: string }[]): FindingSubject[] {
  const byId = new Map(accounts.map(account => [account.id, account]))
  return [...byId.values()].map(({ id, name }) => ({ kind: 'account', id, name }))
}
