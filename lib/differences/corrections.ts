import { type Actor, personOf, recordAudit } from '#lib/audit/record.ts'
import { type AttachmentType, readAttachmentType } from '#lib/core/attachments.ts'
import { invalidInput, refuse } from '#lib/core/errors.ts'
import { isUuid, newRoutableId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents, formatReais } from '#lib/core/money.ts'
import { PROPOSAL_ENDED } from '#lib/core/refusals.ts'
import { Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { itemsSql, MATCHED_LATER, modeOfItem } from '#lib/differences/differences.ts'
import { releaseUnmatched } from '#lib/differences/resolve.ts'
import { allowedEntries, BANK, type CorrectionTerms, OPERATOR } from '#lib/differences/states.ts'
import { bookOne } from '#lib/ledger/book.ts'
import { lockBooks, lockDisputes, openDisputeLedgers } from '#lib/ledger/owed.ts'
import { queueMailToOwners } from '#lib/mail/queue.ts'
import {
  areTwoAdmins,
  lockSecondAdmin,
  PROPOSAL_HOURS,
  queueMailToAdmins,
} from '#lib/people/approvers.ts'

/** An entry that settles a difference: `from` pays `to`. `bank`, `operator` or the id of an account. */
export interface CorrectionRequest {
  itemId: string
  from: string
  to: string
  amount: number
  reason: string
  attachment: Buffer
}

/** What the entries of people have changed at the bank by the item `i`, in cents; positive: the books have more. */
const correctedSql = Prisma.sql`COALESCE((
  SELECT sum(CASE WHEN c.from_account_id IS NULL THEN c.amount ELSE -c.amount END) FROM corrections c
  WHERE c.item_id = i.id AND c.booked_at IS NOT NULL AND num_nulls(c.from_account_id, c.to_account_id) = 1), 0)`

/** By how much the bank has more than the books because of the item `i` of a day, in cents. */
export const outstandingSql = Prisma.sql`(
  COALESCE((i.facts -> 'bank' ->> 'amount')::bigint, 0)
  - CASE WHEN i.facts -> 'ours' ->> 'state' = 'booked' AND i.kind <> 'day_missing_here'
    THEN (i.facts -> 'ours' ->> 'amount')::bigint ELSE 0 END
  - ${correctedSql})::bigint`

interface CorrectedItem {
  kind: string
  key: string
  connectionId: string
  mode: Mode
  resolution: string | null
  isResolved: boolean
  isGivingBack: boolean
  outstanding: bigint
  corrected: bigint
  state: string | null
  reported: string | null
  amount: bigint | null
  /** Unmatched money of the item. */
  paymentId: string | null
  /** Whether an entry about another item has moved the money of the order. */
  isOrderSettled: boolean
}

/** The order that the item of a day is about, as banks have its id; null: no order of Troco. */
const orderOfDay = (item: 'i' | 'y') => {
  const fact = (side: string, name: string) =>
    Prisma.raw(`${item}.facts -> '${side}' ->> '${name}'`)
  return Prisma.sql`replace(COALESCE(${fact('ours', 'withdrawal_id')}, ${fact('ours', 'refund_id')},
    ${fact('bank', 'order_id')}), '-', '')`
}

const itemColumns = Prisma.sql`i.kind, i.key, i.connection_id AS "connectionId", ${modeOfItem} AS mode, i.resolution,
  i.resolved_at IS NOT NULL AS "isResolved",
  EXISTS (SELECT FROM unmatched_returns b WHERE b.item_id = i.id AND b.status = 'pending') AS "isGivingBack",
  CASE WHEN i.kind LIKE 'day%' THEN ${outstandingSql} ELSE 0 END AS outstanding,
  ${correctedSql}::bigint AS corrected, i.facts -> 'ours' ->> 'state' AS state,
  i.facts ->> 'bank_reports' AS reported, COALESCE(r.amount, CASE WHEN json_typeof(i.facts -> 'amount') = 'number'
    THEN (i.facts ->> 'amount')::bigint END) AS amount,
  CASE WHEN i.resolved_at IS NULL THEN r.id END AS "paymentId",
  i.kind = 'order_contradicted' AND EXISTS (SELECT FROM differences y
    WHERE y.connection_id = i.connection_id AND y.day IS NOT NULL AND y.resolution = 'correct'
      AND ${orderOfDay('y')} = i.key) AS "isOrderSettled"`

/** Returns what an entry about the item must be; null if none can settle it. */
export async function readCorrectionTerms(
  client: Pick<Tx, '$queryRaw'>,
  itemId: string,
): Promise<CorrectionTerms | null> {
  const [item] = await client.$queryRaw<CorrectedItem[]>`
    SELECT ${itemColumns} FROM ${itemsSql} WHERE i.id = ${itemId}::uuid`
  return item ? termsOf(item) : null
}

/**
 * An entry about an item of a day is with the bank, of what the bank has more or less; one about a contradicted
 * order or unmatched money, of that amount. Others move money between merchants and the operator only: what they
 * changed at the bank is an item of a day.
 */
function termsOf(item: CorrectedItem): CorrectionTerms | null {
  const { kind, resolution, isResolved, isGivingBack, paymentId } = item
  if ((isResolved && resolution !== 'acknowledge') || isGivingBack) return null
  const fixed = (isFromBank: boolean, amount: number): CorrectionTerms => ({
    from: isFromBank ? BANK : null,
    to: isFromBank ? null : BANK,
    amount,
    isWithBank: true,
  })
  if (paymentId !== null)
    return { from: OPERATOR, to: BANK, amount: cents(item.amount ?? 0n), isWithBank: true }
  if (kind === 'order_contradicted') {
    if (item.corrected !== 0n || item.isOrderSettled || item.amount === null) return null
    return fixed(item.reported === 'refused', cents(item.amount))
  }
  if (kind === 'day_balance') return { from: null, to: null, amount: null, isWithBank: true }
  if (kind.startsWith('day')) {
    const outstanding = cents(item.outstanding)
    if (outstanding === 0 || item.state === 'pending') return null
    return fixed(outstanding > 0, Math.abs(outstanding))
  }
  if (allowedEntries(kind).includes('keep')) return null
  return { from: null, to: null, amount: null, isWithBank: false }
}

/** Proposes an entry in place of an earlier proposal, and mails all admins. Moves no money. */
export function proposeCorrection(request: CorrectionRequest, by: string): Promise<string> {
  return transaction(async tx => {
    const actor = { type: 'user', id: by } as const
    const { id, item } = await insertCorrection(tx, request, actor)
    const correction = { ...request, id, mode: item.mode }
    await recordCorrection(tx, correction, 'difference.correction_proposed', actor)
    await mailCorrection(tx, correction, 'correctionProposed')
    return id
  })
}

/**
 * Books an entry that another admin proposed, and resolves its item. Both admins stay locked until the commit.
 * Called twice, the second call is refused.
 */
export async function approveCorrection(id: string, itemId: string, by: string): Promise<void> {
  if (![id, itemId].every(isUuid)) throw refuse('item_not_found')
  await transaction(async tx => {
    const item = await lockCorrected(tx, itemId)
    const [proposal] = await tx.$queryRaw<(StoredCorrection & { proposedBy: string })[]>`
      SELECT ${storedColumns}, c.proposed_by AS "proposedBy" FROM corrections c
      WHERE c.id = ${id}::uuid AND c.item_id = ${itemId}::uuid AND ${isCorrectionStanding}`
    if (!proposal) throw refuse('correction_refused', PROPOSAL_ENDED)
    if (!(await lockSecondAdmin(tx, proposal.proposedBy, by))) throw refuse('end_by_other')
    const correction = {
      ...proposal,
      itemId,
      from: partyOf(proposal.fromId),
      to: partyOf(proposal.toId),
    }
    await requireTerms(tx, item, { ...correction, amount: cents(correction.amount) })
    await bookCorrection(tx, item, correction, { type: 'user', id: by })
  })
}

/** Books an entry at the command line, for an installation without two admins who could do it. */
export async function correctAlone(request: CorrectionRequest): Promise<string> {
  return transaction(async tx => {
    if (await areTwoAdmins(tx))
      throw refuse('correction_refused', 'There are two admins who can settle it on its page')
    const actor = { type: 'command_line' } as const
    const { id, item } = await insertCorrection(tx, request, actor)
    const [stored] = await tx.$queryRaw<StoredCorrection[]>`
      SELECT ${storedColumns} FROM corrections c WHERE c.id = ${id}::uuid`
    await bookCorrection(tx, item, { ...request, ...(stored as StoredCorrection) }, actor)
    return id
  })
}

/** Condition that the proposal `c` can be approved. */
export const isCorrectionStanding = Prisma.sql`c.booked_at IS NULL AND c.replaced_at IS NULL
  AND c.proposed_at > now() - ${PROPOSAL_HOURS} * interval '1 hour'`

interface StoredCorrection {
  id: string
  mode: Mode
  connectionId: string
  /** Null: the bank. */
  fromId: string | null
  toId: string | null
  amount: bigint
  reason: string
}

const storedColumns = Prisma.sql`c.id, c.mode, c.connection_id AS "connectionId", c.from_account_id AS "fromId",
  c.to_account_id AS "toId", c.amount, c.reason`

export function partyOf(accountId: string | null): string {
  if (accountId === null) return BANK
  return accountId === OPERATOR_ACCOUNT_ID ? OPERATOR : accountId
}

function accountOf(party: string): string | null {
  if (party === BANK) return null
  return party === OPERATOR ? OPERATOR_ACCOUNT_ID : party
}

async function lockCorrected(tx: Tx, itemId: string): Promise<CorrectedItem> {
  const rows = isUuid(itemId)
    ? await tx.$queryRaw<unknown[]>`SELECT FROM differences WHERE id = ${itemId}::uuid FOR UPDATE`
    : []
  if (rows.length === 0) throw refuse('item_not_found')
  // Read after the lock: another entry may have been booked meanwhile.
  const [item] = await tx.$queryRaw<CorrectedItem[]>`
    SELECT ${itemColumns} FROM ${itemsSql} WHERE i.id = ${itemId}::uuid`
  return item as CorrectedItem
}

async function insertCorrection(
  tx: Tx,
  request: CorrectionRequest,
  actor: Actor,
): Promise<{ id: string; item: CorrectedItem }> {
  const { itemId, from, to, amount, reason, attachment } = request
  const type = readAttachmentType(attachment)
  if (!type) throw invalidInput('attachment', 'must be a PDF, PNG or JPEG')
  const item = await lockCorrected(tx, itemId)
  await requireTerms(tx, item, request)
  const id = newRoutableId(OPERATOR_ACCOUNT_ID)
  await tx.correction.updateMany({
    where: { itemId, bookedAt: null, replacedAt: null },
    data: { replacedAt: new Date() },
  })
  await tx.correction.create({
    data: {
      accountId: OPERATOR_ACCOUNT_ID,
      id,
      itemId,
      mode: item.mode,
      connectionId: item.connectionId,
      amount,
      reason,
      proposedBy: personOf(actor),
      fromAccountId: accountOf(from),
      toAccountId: accountOf(to),
      attachment: new Uint8Array(attachment),
      attachmentType: type satisfies AttachmentType,
    },
  })
  return { id, item }
}

/** Refuses an entry that would not settle the item. */
async function requireTerms(
  tx: Tx,
  item: CorrectedItem,
  { from, to, amount }: Pick<CorrectionRequest, 'from' | 'to' | 'amount'>,
): Promise<void> {
  const terms = termsOf(item)
  if (!terms) throw refuse('correction_refused', 'No entry can settle this difference now')
  const require = (field: 'from' | 'to', party: string) => {
    const fixed = terms[field]
    if (fixed !== null && party !== fixed) throw invalidInput(field, `must be ${fixed}`)
    if (party === BANK && !terms.isWithBank)
      throw invalidInput(
        field,
        'must not be the bank: what the bank moved is a difference of a day',
      )
  }
  require('from', from)
  require('to', to)
  if (from === to) throw invalidInput('to', 'must be another party than from')
  if (terms.amount !== null && amount !== terms.amount)
    throw invalidInput('amount', `must be ${terms.amount}, which settles the difference`)
  for (const [field, party] of Object.entries({ from, to })) {
    if ([BANK, OPERATOR].includes(party)) continue
    if (!isUuid(party) || !(await tx.account.findUnique({ where: { id: party } })))
      throw invalidInput(field, 'must be bank, operator or the id of an account')
  }
}

/**
 * Books both sides of an entry through the connection of its item, in the caller's transaction. What an account does
 * not have is owed. Merchants are locked before the operator.
 */
async function bookCorrection(
  tx: Tx,
  item: CorrectedItem,
  correction: StoredCorrection & { itemId: string },
  actor: Actor,
): Promise<void> {
  const { id, itemId, fromId, toId, mode, reason } = correction
  const merchants = [fromId, toId].filter(party => party !== null && party !== OPERATOR_ACCOUNT_ID)
  for (const accountId of (merchants as string[]).sort()) {
    // The entry may be above its balance; the rest is owed.
    if (accountId === fromId) await openDisputeLedgers(accountId, mode, tx)
    await lockBooks(tx, accountId, mode)
  }
  for (const [party, isFrom] of [
    [fromId, true],
    [toId, false],
  ] as const)
    if (party !== null && party !== OPERATOR_ACCOUNT_ID)
      await bookOfMerchant(tx, correction, party, isFrom)
  if (item.paymentId !== null) await releaseUnmatched(tx, item.paymentId, 'keep')
  const ofOperator = { ...correction, accountId: OPERATOR_ACCOUNT_ID }
  if (fromId === OPERATOR_ACCOUNT_ID)
    await bookOne(tx, 'corrected', ofOperator, { debit: 'own', credit: 'external' })
  if (toId === OPERATOR_ACCOUNT_ID)
    await bookOne(tx, 'corrected', ofOperator, { debit: 'external', credit: 'own' })
  await tx.correction.updateMany({
    where: { id, bookedAt: null },
    data: { bookedAt: new Date(), approvedBy: personOf(actor) },
  })
  const data = {
    resolvedAt: new Date(),
    resolution: 'correct',
    resolvedBy: personOf(actor),
    reason,
  }
  await tx.difference.update({ where: { id: itemId }, data })
  await resolveItemsOfOrder(tx, item, itemId)
  const shown = { ...correction, from: partyOf(fromId), to: partyOf(toId) }
  const booked = { ...shown, amount: cents(correction.amount) }
  await recordCorrection(tx, booked, 'difference.corrected', actor)
  await mailCorrection(tx, booked, 'correctionBooked')
}

async function bookOfMerchant(
  tx: Tx,
  correction: StoredCorrection,
  accountId: string,
  isFrom: boolean,
): Promise<void> {
  const ofMerchant = { ...correction, accountId }
  if (!isFrom)
    return bookOne(tx, 'corrected', ofMerchant, { debit: 'external', credit: 'available' })
  const { available } = await lockDisputes(tx, accountId, correction.mode)
  const paid = BigInt(Math.min(available, cents(correction.amount)))
  const owed = correction.amount - paid
  const sides = { debit: 'available', credit: 'external' } as const
  if (paid > 0n) await bookOne(tx, 'corrected', { ...ofMerchant, amount: paid }, sides)
  if (owed > 0n) await bookOne(tx, 'correction_owed', { ...ofMerchant, amount: owed })
}

/** Condition that an entry has settled the contradicted order that the item `i` of a day is about. */
export const isOrderCorrected = Prisma.sql`EXISTS (
  SELECT FROM differences x WHERE x.connection_id = i.connection_id AND x.kind = 'order_contradicted'
    AND x.resolution = 'correct' AND x.key = ${orderOfDay('i')})`

/** Other items about an order whose money an entry has moved are explained by it: it must not move twice. */
async function resolveItemsOfOrder(
  tx: Tx,
  { connectionId, kind }: CorrectedItem,
  itemId: string,
): Promise<void> {
  const isExplained =
    kind === 'order_contradicted'
      ? Prisma.sql`i.day IS NOT NULL AND ${isOrderCorrected}`
      : Prisma.sql`i.kind = 'order_contradicted' AND i.key = (
          SELECT ${orderOfDay('y')} FROM differences y WHERE y.id = ${itemId}::uuid)`
  await tx.$executeRaw`
    UPDATE differences i SET resolved_at = now(), resolution = ${MATCHED_LATER}
    WHERE i.connection_id = ${connectionId}::uuid AND ${isExplained}
      AND (i.resolved_at IS NULL OR i.resolution = 'acknowledge')`
}

interface TaggedCorrection extends Omit<CorrectionRequest, 'attachment'> {
  id: string
  mode: Mode
}

/** Recorded for each account whose money moves; of the operator's, for none. */
async function recordCorrection(
  tx: Tx,
  { id, itemId, from, to, amount, mode, reason }: TaggedCorrection,
  action: 'difference.correction_proposed' | 'difference.corrected',
  actor: Actor,
): Promise<void> {
  const after = { correction_id: id, mode, from, to, amount }
  const merchants = [from, to].filter(party => ![BANK, OPERATOR].includes(party))
  for (const accountId of merchants.length > 0 ? merchants : [undefined])
    await recordAudit(tx, {
      actor,
      action,
      target: itemId,
      reason,
      after,
      ...(accountId && { accountId }),
    })
}

/** Mails all admins; once it is booked, also the owners of the accounts. */
async function mailCorrection(
  tx: Tx,
  { itemId, from, to, amount, reason }: TaggedCorrection,
  kind: 'correctionProposed' | 'correctionBooked',
): Promise<void> {
  const merchants = [from, to].filter(party => ![BANK, OPERATOR].includes(party))
  const accounts = await tx.account.findMany({
    where: { id: { in: merchants } },
    select: { id: true, name: true },
  })
  const account = accounts.map(({ name }) => name).join(', ')
  const messageTo = (path: string, locale: string | null) => ({
    kind,
    account,
    reason,
    path,
    amount: `R$ ${formatReais(amount, locale ?? 'pt-BR')}`,
  })
  await queueMailToAdmins(tx, ({ locale }) => messageTo(`/admin/reconciliation/${itemId}`, locale))
  if (kind === 'correctionProposed') return
  for (const { id } of accounts)
    await queueMailToOwners(tx, id, (_name, { locale }) => messageTo('/live/statement', locale))
}
