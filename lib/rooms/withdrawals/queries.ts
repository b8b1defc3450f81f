import type { Claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { type AccountRef, accountCondition, utc } from '#lib/base/db/columns.ts'
import { type Page, pageSql, readPage } from '#lib/base/db/page.ts'
import { asJson, queryRows } from '#lib/base/db/rows.ts'
import { columnsOf } from '#lib/base/db/statement.ts'
import { withoutTaxIds } from '#lib/base/db/tax-ids.ts'
import type { ListQuery } from '#lib/base/fields.ts'
import { isUuid, removeHyphens } from '#lib/base/ids.ts'
import { Invariant } from '#lib/base/invariant.ts'
import type { Mode } from '#lib/base/mode.ts'
import { cents, parseSearchedReais } from '#lib/base/money.ts'
import { reverseTail } from '#lib/base/pix/end-to-end-id.ts'
import { maskTaxId, normalizeTaxId } from '#lib/base/pix/tax-id.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import { type WithdrawalDetail, withdrawalToWire } from '#lib/rooms/withdrawals/wire.ts'
import type { PayoutOrder, SentOrder } from '#lib/services/gateway/gateway.ts'
import { maskDictKey } from '#lib/services/gateway/journal.ts'

/** Columns of a WithdrawalRow, from a table or CTE named `w`. */
export const withdrawalColumns = Prisma.sql`
  w.id, w.external_id, w.mode, w.status, w.amount, w.pix_key_type, w.pix_key, w.owner_doc,
  w.webhook_url, w.rejection_reason, w.rejection_code,
  CASE WHEN w.status <> 'pending' THEN NULL WHEN w.approval_due_at IS NOT NULL THEN 'approval'
    WHEN w.place_until IS NULL AND w.attempts = 0 THEN 'balance_window' ELSE 'bank' END AS awaiting, w.end_to_end_id, ${utc('w.approved_at')}, ${utc('w.rejected_at')},
  w.returned_amount,
  ${utc('w.created_at')}, ${utc('w.updated_at')}`

export const withdrawalAsJson = asJson(withdrawalColumns)

/** Columns of an event about a withdrawal, from a CTE named `w`, without the id of the event. */
export const withdrawalEventColumns = {
  ...columnsOf('w', ['account_id', 'mode', 'webhook_url', 'webhook_host', 'trace']),
  subject_id: Prisma.sql`w.id`,
  resource: withdrawalAsJson,
}

/** Finds a withdrawal by id or by the merchant's reference. Text in UUID form is always an id. */
export async function findWithdrawal(
  account: AccountRef,
  mode: Mode,
  idOrReference: string,
): Promise<WithdrawalRow | null> {
  const condition = isUuid(idOrReference)
    ? Prisma.sql`w.id = ${idOrReference}::uuid`
    : Prisma.sql`w.external_id = ${idOrReference}`
  const [row] = await queryRows<WithdrawalRow>(Prisma.sql`
    SELECT ${withdrawalAsJson}::text AS json FROM withdrawals w
    WHERE ${accountCondition('w', account)} AND w.mode = ${mode} AND ${condition}`)
  return row ?? null
}

/** Time in which a second admin may confirm what the first proposed. */
export const PROPOSAL_HOURS = 24

/** Condition that a proposal of how to end withdrawal `w` stands, or was carried out within its time. */
export const isEndProposed = Prisma.sql`
  COALESCE(w.end_proposed_at > now() - ${PROPOSAL_HOURS} * interval '1 hour', false)`

interface PayoutRow {
  amount: bigint
  dictKey: string
  ownerDoc: string | null
  isActive: boolean
  isEndProposed: boolean
}

/** A payout, and what keeps it from being sent. */
type FoundPayout = { order: PayoutOrder } & Pick<PayoutRow, 'isActive' | 'isEndProposed'>

/** Null if the lease was lost or the withdrawal ended. */
export async function findPayoutOrder({
  accountId,
  id,
  lease,
}: Claim): Promise<FoundPayout | null> {
  const [row] = await db().$queryRaw<PayoutRow[]>`
    SELECT w.amount, w.dict_key AS "dictKey", w.owner_doc AS "ownerDoc",
      a.status = 'active' AS "isActive", ${isEndProposed} AS "isEndProposed"
    FROM withdrawals w JOIN accounts a ON a.id = w.account_id
    WHERE w.account_id = ${accountId}::uuid AND w.id = ${id}::uuid
      AND w.status = 'pending' AND w.lease = ${lease}::uuid`
  if (!row) return null
  const { amount, dictKey, ownerDoc, isActive } = row
  const order = {
    ...{ id: removeHyphens(id), amount: cents(amount), dictKey },
    ownerDoc: ownerDoc === null ? null : normalizeTaxId(ownerDoc),
  }
  return { order, isActive, isEndProposed: row.isEndProposed }
}

/** Returns what the bank is asked about a withdrawal, whatever its status. */
export async function findSentOrder({
  accountId,
  id,
}: Pick<Claim, 'accountId' | 'id'>): Promise<SentOrder> {
  const [row] = await db().$queryRaw<Pick<PayoutRow, 'amount' | 'dictKey'>[]>`
    SELECT amount, dict_key AS "dictKey" FROM withdrawals
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid`
  if (!row) throw new Invariant(`withdrawal ${id} was claimed but is missing`)
  return { id: removeHyphens(id), amount: cents(row.amount), dictKey: row.dictKey }
}

type Hidden = Pick<PayoutRow, 'dictKey' | 'ownerDoc'> & { payeeName: string | null }

/** Returns what a bank's text about the withdrawal may repeat, each with its replacement. */
export async function findHidden({
  accountId,
  id,
}: Pick<Claim, 'accountId' | 'id'>): Promise<Record<string, string>> {
  const [row] = await db().$queryRaw<Hidden[]>`
    SELECT dict_key AS "dictKey", owner_doc AS "ownerDoc", payee_name AS "payeeName" FROM withdrawals
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid`
  if (!row) return {}
  const { dictKey, ownerDoc, payeeName } = row
  return {
    ...(ownerDoc && { [normalizeTaxId(ownerDoc)]: maskTaxId(ownerDoc) }),
    ...{ [dictKey]: maskDictKey(dictKey), ...(payeeName && { [payeeName]: '***' }) },
  }
}

export async function hasPayment({ accountId, id }: Claim): Promise<boolean> {
  const rows = await db().$queryRaw<unknown[]>`
    SELECT FROM withdrawals WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND end_to_end_id IS NOT NULL`
  return rows.length > 0
}

/** Receivers of events never get the full document that a withdrawal was created with. */
export function serializeWithdrawalEvent(resource: unknown): { withdrawal: WithdrawalDetail } {
  return { withdrawal: withdrawalToWire(resource as WithdrawalRow) }
}

/** Returns the withdrawal as in the response to its creation, regardless of its current status. */
export async function readCreatedWithdrawal(
  account: AccountRef,
  mode: Mode,
  id: string,
): Promise<WithdrawalRow> {
  const row = await findWithdrawal(account, mode, id)
  if (!row) throw new Invariant(`withdrawal ${id} was acknowledged but is missing`)
  return { ...row, status: 'pending' }
}

export function listWithdrawals(
  account: AccountRef,
  mode: Mode,
  { q, ...query }: ListQuery,
  { isViewing = false } = {},
): Promise<Page<WithdrawalRow>> {
  const found = q ? Prisma.sql`AND ${withdrawalMatches(q, isViewing)}` : Prisma.empty
  const rows = Prisma.sql`
    SELECT ${withdrawalAsJson}::text AS json FROM withdrawals w
    WHERE ${accountCondition('w', account)} AND w.mode = ${mode} ${found} ${pageSql('w', query)}`
  return readPage<WithdrawalRow>(rows, query.limit)
}

/**
 * Matches an id, part of the reference, an amount or the end of an end-to-end id, and a
 * whole Pix key. Staff that views the account sees documents masked and could guess them: for it,
 * neither a key nor a document in a reference matches.
 */
export function withdrawalMatches(q: string, isViewing = false): Prisma.Sql {
  const text = q.trim()
  const key = isViewing ? null : text
  const reference = Prisma.sql`w.external_id`
  const shown = isViewing ? withoutTaxIds(reference) : reference
  return Prisma.sql`(w.pix_key = ${key} OR w.dict_key = ${key}
    OR w.id = ${isUuid(text) ? text : null}::uuid OR w.end_to_end_id = ${text}
    OR starts_with(upper(reverse(w.end_to_end_id)), ${reverseTail(text)})
    OR w.amount = ${parseSearchedReais(text)}::bigint OR w.external_id = ${text}
    OR (w.external_id <> replace(w.id::text, '-', '')
      AND strpos(lower(${shown}), lower(${text})) > 0))`
}
