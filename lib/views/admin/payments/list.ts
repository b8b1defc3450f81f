import { MODES, type Mode } from '#lib/base/mode.ts'
import { maskPixKey, normalizePixKey } from '#lib/base/pix/pix-key.ts'
import { maskTaxId } from '#lib/base/pix/tax-id.ts'
import { readAssignedConnections, readTimeZone } from '#lib/rooms/accounts/queries.ts'
import { listCharges } from '#lib/rooms/charges/queries.ts'
import { listWithdrawals } from '#lib/rooms/withdrawals/queries.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import type { PaymentLine } from '#lib/views/admin/payments/schema.ts'
import type { SearchParams } from '#lib/views/dashboard/schema.ts'
import { readChargeFilters, readWithdrawalFilters } from '#lib/views/dashboard/url-filters.ts'

const PAGE_SIZE = 25

interface PaymentPage {
  mode: Mode
  rows: PaymentLine[]
  nextCursor: string | null
}

/** Lists an account's charges for staff, masked, by the filters of a page's URL. */
export async function listMaskedCharges(id: string, search: SearchParams): Promise<PaymentPage> {
  const [mode, timeZone] = await Promise.all([readMode(id, search), readTimeZone(id)])
  const { query } = readChargeFilters(search, timeZone, PAGE_SIZE)
  const { rows, nextCursor } = await listCharges(id, mode, query)
  const lines = rows.map(({ client_name, client_doc, ...charge }) => ({
    ...pickLine(charge),
    subject: client_name,
    note: maskTaxId(client_doc),
    status: charge.status,
  }))
  return { mode, rows: lines, nextCursor }
}

/** Lists an account's withdrawals for staff, with masked Pix keys. */
export async function listMaskedWithdrawals(
  id: string,
  search: SearchParams,
): Promise<PaymentPage> {
  const [mode, timeZone] = await Promise.all([readMode(id, search), readTimeZone(id)])
  const { query } = readWithdrawalFilters(search, timeZone)
  const { rows, nextCursor } = await listWithdrawals(id, mode, query, { matchesKeys: false })
  const lines = rows.map(withdrawal => ({
    ...pickLine(withdrawal),
    subject: maskedKeyOf(withdrawal),
    note: null,
    status: withdrawal.status,
  }))
  return { mode, rows: lines, nextCursor }
}

/** The mode of the URL; without one, live mode if the account has a bank. */
async function readMode(id: string, { mode }: SearchParams): Promise<Mode> {
  const chosen = MODES.find(known => known === mode)
  if (chosen) return chosen
  const { receiving_id, paying_id } = await readAssignedConnections(id)
  return (receiving_id ?? paying_id) ? 'live' : 'test'
}

function pickLine(row: Pick<PaymentLine, 'id' | 'amount' | 'created_at' | 'external_id'>) {
  const { id, amount, created_at, external_id } = row
  return { id, amount, created_at, external_id }
}

function maskedKeyOf({ pix_key_type: type, pix_key: key }: WithdrawalRow): string {
  const normalized = normalizePixKey(type, key, 'form')
  return maskPixKey(type, normalized.ok ? normalized.key : key)
}
