import { readPeople } from '#lib/audit/queries.ts'
import { isPastRefund } from '#lib/charges/states.ts'
import { refuse } from '#lib/core/errors.ts'
import { idLowerBoundAt, idUpperBoundAt, isUuid } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { isCorrectionStanding, partyOf, readCorrectionTerms } from '#lib/differences/corrections.ts'
import { isDayKind, itemsSql } from '#lib/differences/differences.ts'
import { allowedEntries, type Entry } from '#lib/differences/states.ts'
import { lineColumns } from '#lib/operator/differences/differences.ts'
import type {
  Candidate,
  Correction,
  DifferenceDetail,
  DifferenceEvidence,
  DifferenceLine,
  Suggestion,
} from '#lib/operator/differences/schema.ts'
import { isSecondAdmin, PROPOSAL_HOURS } from '#lib/people/approvers.ts'

/** Facts of an item that are Troco's own, and not the bank's. */
const OWN_FACTS = [
  'account_id',
  'transaction_id',
  'withdrawal_id',
  'payment_id',
  'mode',
  'expected_amount',
  'stored_status',
  'stored_amount',
  'sent_amount',
  'returned_amount',
  'left_amount',
  'ended_as',
  'ours',
]

interface ItemRow extends DifferenceLine {
  key: string
  reason: string | null
  by: string | null
  facts: Record<string, unknown>
  paid_at: string | null
}

/** Returns an item with the evidence of the bank and of the books; null if there is none. */
export async function readItem(
  id: string,
  adminId: string | null = null,
): Promise<DifferenceDetail | null> {
  if (!isUuid(id)) return null
  const columns = Prisma.sql`${lineColumns}, i.key, i.reason, i.resolved_by AS by, i.facts,
    ${utc('r.paid_at')}`
  const [row] = await queryRows<ItemRow>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM ${itemsSql} WHERE i.id = ${id}::uuid`)
  if (!row) return null
  const { by, facts, paid_at: paidAt, ...line } = row
  const entries = listEntries(line.kind, paidAt)
  const [findPerson, evidence, terms, corrections] = await Promise.all([
    readPeople([[null, by]]),
    readEvidence({ ...line, facts, paidAt }),
    readCorrectionTerms(db(), id),
    readCorrections(id, adminId),
  ])
  return {
    ...line,
    resolved_by: findPerson(null, by)?.name ?? null,
    evidence,
    // Nothing can be done about a resolved item, nor while the bank gives the money back.
    entries: line.resolved_at || line.is_giving_back ? [] : entries,
    suggestion: suggestEntry(line.kind, entries, evidence),
    correction_terms: terms,
    corrections,
  }
}

/** Like `readItem`; refuses an unknown item. */
export async function requireItem(id: string, adminId: string): Promise<DifferenceDetail> {
  const item = await readItem(id, adminId)
  if (!item) throw refuse('item_not_found')
  return item
}

interface CorrectionRow
  extends Pick<Correction, 'id' | 'amount' | 'reason' | 'booked_at' | 'expires_at'> {
  from_id: string | null
  to_id: string | null
  from_name: string | null
  to_name: string | null
  proposed_by: string | null
  approved_by: string | null
}

/** Reads the entry that waits for a second admin, and those that are booked, the latest first. */
async function readCorrections(itemId: string, adminId: string | null): Promise<Correction[]> {
  const nameOf = (party: 'from' | 'to') => Prisma.sql`
    (SELECT a.name FROM accounts a WHERE a.id = ${Prisma.raw(`c.${party}_account_id`)})
      AS ${Prisma.raw(`${party}_name`)}`
  const columns = Prisma.sql`c.id, c.amount, c.reason, c.from_account_id AS from_id, c.to_account_id AS to_id,
    ${nameOf('from')}, ${nameOf('to')}, c.proposed_by, c.approved_by, ${utc('c.booked_at')},
    CASE WHEN c.booked_at IS NULL THEN
      ${utcText(`(c.proposed_at + interval '${PROPOSAL_HOURS} hours')`)} END AS expires_at`
  const rows = await queryRows<CorrectionRow>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM corrections c
    WHERE c.item_id = ${itemId}::uuid AND (c.booked_at IS NOT NULL OR ${isCorrectionStanding})
    ORDER BY c.id DESC`)
  const findPerson = await readPeople(
    rows.flatMap(row => [row.proposed_by, row.approved_by]).map(person => [null, person]),
  )
  return Promise.all(
    rows.map(async ({ from_id, to_id, from_name, to_name, proposed_by, approved_by, ...row }) => ({
      ...row,
      from: { id: partyOf(from_id), name: from_name },
      to: { id: partyOf(to_id), name: to_name },
      proposed_by: findPerson(null, proposed_by)?.name ?? null,
      approved_by: findPerson(null, approved_by)?.name ?? null,
      can_approve:
        row.booked_at === null &&
        adminId !== null &&
        proposed_by !== null &&
        (await isSecondAdmin(proposed_by, adminId)),
    })),
  )
}

/** Reads the file that was attached to an entry. */
export async function readAttachment(
  itemId: string,
  correctionId: string,
): Promise<{ attachment: Buffer; type: string; name: string }> {
  const where = { itemId, id: correctionId }
  const found = [itemId, correctionId].every(isUuid)
    ? await db().correction.findFirst({ where, select: { attachment: true, attachmentType: true } })
    : null
  if (!found) throw refuse('item_not_found')
  const { attachment, attachmentType: type } = found
  return {
    attachment: Buffer.from(attachment),
    type,
    name: `${correctionId}.${type.split('/')[1]}`,
  }
}

/** No bank returns a payment after the Pix window. */
function listEntries(kind: string, paidAt: string | null): Entry[] {
  const isLate = paidAt !== null && isPastRefund(new Date(paidAt))
  return allowedEntries(kind).filter(entry => entry !== 'give_back' || !isLate)
}

async function readEvidence(
  item: DifferenceLine & Pick<ItemRow, 'facts'> & { paidAt: string | null },
): Promise<DifferenceEvidence> {
  const { id, mode, paidAt, amount, connection } = item
  const { bank, noted } = splitFacts(item)
  const facts = { ...bank, ...noted }
  const named = await findNamedCharge(facts, connection.id)
  const accountId = named?.account.id ?? textOf(facts.account_id)
  const [accounts, withdrawals, deliveries, returns, candidates] = await Promise.all([
    named || !isUuid(accountId) ? [] : readAccount(accountId),
    readWithdrawal(accountId, textOf(facts.withdrawal_id)),
    named ? readDeliveries(named.account.id, named.id) : [],
    readReturns(id),
    item.is_held && paidAt && amount
      ? listCandidates({ mode, amount, paidAt, connectionId: connection.id, doc: named?.doc })
      : [],
  ])
  return {
    bank,
    noted,
    account: named?.account ?? accounts[0] ?? null,
    charge: named && maskPayer(named),
    withdrawal: withdrawals[0] ?? null,
    deliveries,
    returns,
    candidates: candidates.map(row => maskPayer(row)),
  }
}

type SideFacts = DifferenceEvidence['bank']

/** An item of a reconciled day has what each side has of a movement; others have facts of both. */
function splitFacts({ kind, facts }: Pick<ItemRow, 'kind' | 'facts'>) {
  const { bank, ours, ...shared } = facts
  if (isDayKind(kind))
    return { bank: toFacts({ ...shared, ...toObject(bank) }), noted: toFacts(toObject(ours)) }
  const isOwn = ([name]: [string, unknown]) => OWN_FACTS.includes(name)
  const entries = Object.entries(facts)
  return {
    bank: toFacts(Object.fromEntries(entries.filter(entry => !isOwn(entry)))),
    noted: toFacts(Object.fromEntries(entries.filter(isOwn))),
  }
}

function toObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {}
}

/** Facts are flat; what a later version nests is shown as JSON. */
function toFacts(facts: object): SideFacts {
  const toFact = (value: unknown) =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  return Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, toFact(value) as SideFacts[string]]),
  )
}

function maskPayer<Row extends { doc: string }>({ doc, ...row }: Row) {
  return { ...row, payer: maskTaxId(doc) }
}

type ChargeRow = Omit<NonNullable<DifferenceEvidence['charge']>, 'payer'> &
  Pick<CandidateRow, 'doc'>

/** Finds the charge that the item names, or the one that the payment has paid. */
async function findNamedCharge(
  facts: ItemRow['facts'],
  connectionId: string,
): Promise<ChargeRow | null> {
  const [accountId, chargeId] = [textOf(facts.account_id), textOf(facts.transaction_id)]
  const condition = [accountId, chargeId].every(isUuid)
    ? Prisma.sql`c.account_id = ${accountId}::uuid AND c.id = ${chargeId}::uuid`
    : Prisma.sql`c.end_to_end_id = ${textOf(facts.end_to_end_id)}
        AND c.connection_id = ${connectionId}::uuid`
  const columns = Prisma.sql`c.id, json_build_object('id', a.id, 'name', a.name) AS account, c.status,
    c.amount, c.refunded_amount, ${utc('c.created_at')}, ${utc('c.paid_at')},
    ${utc('c.cancelled_at')}, c.client_doc AS doc, c.end_to_end_id`
  const [row] = await queryRows<ChargeRow>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM charges c JOIN accounts a ON a.id = c.account_id
    WHERE ${condition} AND c.status <> 'opening' LIMIT 1`)
  return row ?? null
}

function readAccount(id: string): Promise<{ id: string; name: string }[]> {
  return queryRows(Prisma.sql`
    SELECT json_build_object('id', a.id, 'name', a.name)::text AS json FROM accounts a
    WHERE a.id = ${id}::uuid`)
}

async function readWithdrawal(
  accountId: string,
  id: string,
): Promise<NonNullable<DifferenceEvidence['withdrawal']>[]> {
  if (!isUuid(id)) return []
  const columns = Prisma.sql`w.id, w.status, w.amount, w.returned_amount, ${utc('w.created_at')}`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM withdrawals w
    WHERE w.account_id = ${isUuid(accountId) ? accountId : null}::uuid AND w.id = ${id}::uuid`)
}

const DELIVERIES_MAX = 5

function readDeliveries(accountId: string, id: string): Promise<DifferenceEvidence['deliveries']> {
  const columns = Prisma.sql`e.type, d.host, d.status, ${utc('d.created_at')}`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM deliveries d
    JOIN events e ON e.account_id = d.account_id AND e.id = d.event_id
    WHERE d.account_id = ${accountId}::uuid AND d.subject_id = ${id}::uuid
    ORDER BY d.sequence DESC LIMIT ${DELIVERIES_MAX}`)
}

function readReturns(itemId: string): Promise<DifferenceEvidence['returns']> {
  const columns = Prisma.sql`b.id, b.status, o.attempts, ${utc('b.created_at')}, b.return_id,
    b.rejection_reason, b.bank_text`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM unmatched_returns b JOIN bank_orders o USING (account_id, id)
    WHERE b.item_id = ${itemId}::uuid ORDER BY b.created_at, b.id`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

const DAY_MS = 86_400_000
/** A code is paid within days of its creation; the bank's clock may be behind. */
const BEFORE_MS = 7 * DAY_MS
const AFTER_MS = DAY_MS
const CANDIDATES_MAX = 10

type CandidateRow = Omit<Candidate, 'payer'> & { doc: string }

interface Payment {
  mode: Mode
  amount: number
  paidAt: string
  connectionId: string
  /** Document of the payer of the charge that the payment named. */
  doc: string | undefined
}

/**
 * Lists unpaid charges that the payment may have been meant for: of its connection and amount, created in
 * the week before it. Those of the same payer first, then the nearest in time. Reads an index of each
 * account in the range of ids of these days, not the table.
 */
function listCandidates(payment: Payment): Promise<CandidateRow[]> {
  const { mode, amount, paidAt, connectionId, doc = null } = payment
  const at = Date.parse(paidAt)
  const columns = Prisma.sql`c.id, json_build_object('id', a.id, 'name', a.name) AS account, c.status,
    c.amount, ${utc('c.created_at')}, c.client_doc AS doc, c.client_doc IS NOT DISTINCT FROM ${doc}
      AS is_same_payer`
  return queryRows(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json
    FROM accounts a CROSS JOIN LATERAL (
      SELECT c.* FROM charges c
      WHERE c.account_id = a.id AND c.mode = ${mode} AND c.amount = ${amount}::bigint
        AND c.id >= ${idLowerBoundAt(at - BEFORE_MS)}::uuid
        AND c.id < ${idUpperBoundAt(at + AFTER_MS)}::uuid
        AND c.status IN ('pending', 'expired', 'failed')
        AND c.connection_id = ${connectionId}::uuid
      ORDER BY c.id DESC LIMIT ${CANDIDATES_MAX}) c
    ORDER BY c.client_doc IS NOT DISTINCT FROM ${doc} DESC,
      abs(extract(epoch FROM c.created_at - ${paidAt}::timestamptz)), c.id
    LIMIT ${CANDIDATES_MAX}`)
}

type Known = Pick<DifferenceEvidence, 'account' | 'charge' | 'candidates' | 'returns'>

/**
 * Suggests how to settle an item: the only charge that fits the payment, else giving it back. What came
 * back of a payout has no payer: it is the operator's. A person decides.
 */
export function suggestEntry(
  kind: DifferenceDetail['kind'],
  entries: readonly Entry[],
  { account, charge, candidates, returns }: Known,
): Suggestion {
  const suggest = (
    entry: Entry,
    why: Suggestion['why'],
    target: Partial<Suggestion> = {},
  ): Suggestion => ({ entry, why, account_id: null, transaction_id: null, ...target })
  if (!entries.includes('keep')) return suggest('acknowledge', 'nothing_held')
  if (kind === 'return_unmatched') return suggest('keep', 'own_payout')
  if (kind === 'return_above_payout') return suggest('keep', 'above_payout')
  // Without a charge that names the payer, amount and time are all that is known.
  const [fitting, ...others] = charge
    ? candidates.filter(candidate => candidate.is_same_payer)
    : candidates
  if (fitting && others.length === 0)
    return suggest('match', 'one_candidate', {
      account_id: account?.id ?? null,
      transaction_id: fitting.id,
    })
  const target = { account_id: account?.id ?? null }
  if (returns.some(({ status }) => status === 'rejected'))
    return suggest(account ? 'credit' : 'keep', 'bank_refused', target)
  if (!entries.includes('give_back'))
    return suggest(account ? 'credit' : 'keep', 'too_late', target)
  if (!charge) return suggest('give_back', 'nobody')
  return suggest('give_back', kind === 'payment_amount' ? 'other_amount' : 'paid_twice', target)
}
