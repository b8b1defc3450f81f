import { readAssignedConnections, readTimeZone } from '#lib/accounts/queries.ts'
import { listCharges, rowFiltersOf, shownChargesQuery } from '#lib/charges/list.ts'
import { shownStatusOf } from '#lib/charges/states.ts'
import { isUuid } from '#lib/core/ids.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { maskPixKey, normalizePixKey } from '#lib/core/pix/pix-key.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, reasonColumns, utc } from '#lib/db/sql.ts'
import type { BankOrder, MaskedCharge, PaymentLine } from '#lib/operator/schema.ts'
import { listWithdrawals, shownWithdrawalsQuery } from '#lib/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

const PAGE_SIZE = 25

interface PaymentPage {
  mode: Mode
  rows: PaymentLine[]
  nextCursor: string | null
}

/**
 * Lists an account's charges for staff by the filters of a page's URL. The masked document is the only
 * data of the payer, and a search matches none of it.
 */
export async function listMaskedCharges(id: string, search: SearchParams): Promise<PaymentPage> {
  const [mode, timeZone] = await Promise.all([readMode(id, search), readTimeZone(id)])
  const { q, ...query } = readFilters(
    hideTaxIds(search),
    shownChargesQuery,
    timeZone,
    PAGE_SIZE,
  ).query
  const external_id = q === undefined ? undefined : await findReference(id, mode, q)
  if (external_id === null) return { mode, rows: [], nextCursor: null }
  const { rows, nextCursor } = await listCharges(id, mode, { ...rowFiltersOf(query), external_id })
  const lines = rows.map(charge => ({
    ...pickLine(charge),
    subject: maskTaxId(charge.client_doc),
    status: shownStatusOf(charge),
  }))
  return { mode, rows: hideTaxIds(lines), nextCursor }
}

/** Lists an account's withdrawals for staff, with masked Pix keys. */
export async function listMaskedWithdrawals(
  id: string,
  search: SearchParams,
): Promise<PaymentPage> {
  const [mode, timeZone] = await Promise.all([readMode(id, search), readTimeZone(id)])
  const { query } = readFilters(hideTaxIds(search), shownWithdrawalsQuery, timeZone)
  const { rows, nextCursor } = await listWithdrawals(id, mode, query, { isViewing: true })
  const lines = rows.map(withdrawal => ({
    ...pickLine(withdrawal),
    subject: maskedKeyOf(withdrawal),
    status: withdrawal.status,
  }))
  return { mode, rows: hideTaxIds(lines), nextCursor }
}

/** The mode of the URL; without one, live mode if the account has a bank. */
async function readMode(id: string, { mode }: SearchParams): Promise<Mode> {
  const chosen = MODES.find(known => known === mode)
  if (chosen) return chosen
  const { receiving_id, paying_id } = await readAssignedConnections(id)
  return (receiving_id ?? paying_id) ? 'live' : 'test'
}

/** Returns the reference of the charge with this id, reference or end-to-end id; null: none has it. */
async function findReference(accountId: string, mode: Mode, q: string): Promise<string | null> {
  const [found] = await queryRows<string>(Prisma.sql`
    SELECT to_json(c.external_id)::text AS json FROM charges c
    WHERE c.account_id = ${accountId}::uuid AND c.mode = ${mode}
      AND (c.external_id = ${q} OR c.end_to_end_id = ${q} OR c.id = ${isUuid(q) ? q : null}::uuid)`)
  return found ?? null
}

function pickLine(row: Pick<PaymentLine, 'id' | 'amount' | 'created_at' | 'external_id'>) {
  const { id, amount, created_at, external_id } = row
  return { id, amount, created_at, external_id }
}

function maskedKeyOf({ pix_key_type: type, pix_key: key }: WithdrawalRow): string {
  const normalized = normalizePixKey(type, key, 'form')
  return maskPixKey(type, normalized.ok ? normalized.key : key)
}

/** Finds a charge that a merchant asks the operator about; the payer's document is masked. */
export async function findMaskedCharge(
  accountId: string,
  id: string,
): Promise<MaskedCharge | null> {
  if (![accountId, id].every(isUuid)) return null
  const [row] = await queryRows<Omit<MaskedCharge, 'payer'> & { client_doc: string }>(Prisma.sql`
    SELECT ${asJson(Prisma.sql`c.id, c.mode, c.status, c.amount, c.refunded_amount,
      c.client_doc, ${utc('c.created_at')}, ${utc('c.cancelled_at')}`)}::text
      AS json
    FROM charges c WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
      AND c.status <> 'opening'`)
  if (!row) return null
  const { client_doc, ...charge } = row
  return { ...charge, payer: maskTaxId(client_doc) }
}

/** Finds a withdrawal or refund that a merchant asks the operator about, with the bank's own words. */
export async function findBankOrder(accountId: string, id: string): Promise<BankOrder | null> {
  if (![accountId, id].every(isUuid)) return null
  const read = (kind: BankOrder['kind'], endToEndId: string, otherId: string) => {
    const columns = Prisma.sql`${kind}::text AS kind, o.id, o.mode, o.status, o.amount, o.bank_text,
      ${Prisma.raw(endToEndId)} AS end_to_end_id, ${Prisma.raw(otherId)} AS other_end_to_end_id,
      ${reasonColumns('o', 'rejection', 'rejection_reason')}, ${utc('o.created_at')}`
    return Prisma.sql`
      SELECT ${asJson(columns)}::text AS json FROM ${Prisma.raw(`${kind}s`)} o
      WHERE o.account_id = ${accountId}::uuid AND o.id = ${id}::uuid`
  }
  const [order] = await queryRows<BankOrder>(Prisma.sql`
    ${read('withdrawal', 'o.end_to_end_id', 'o.other_end_to_end_id')}
    UNION ALL ${read('refund', 'o.return_id', 'NULL::text')}`)
  return order ?? null
}
