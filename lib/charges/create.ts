import { setTimeout as sleep } from 'node:timers/promises'
import { breaker, doublingPauseMs, requestedPauseMs } from '#lib/banks/breaker.ts'
import type { ChargeTerms, Gateway, GatewayResult, OpenedCharge } from '#lib/banks/gateway.ts'
import {
  CALLS_MAX_MS,
  callTimeoutMs,
  hasCall,
  mayArrive,
  withJournal,
} from '#lib/banks/record-call.ts'
import { connectionIn, gatewayOfConnection } from '#lib/banks/served.ts'
import {
  nextQueryAt,
  type PaidState,
  postponeCharges,
  RETRY_PAUSE_MS,
  removeAtBank,
} from '#lib/charges/close.ts'
import { findCharge, serializeCharge } from '#lib/charges/list.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import type { ChargeRow, CreatedCharge, DescribedRequest } from '#lib/charges/schema.ts'
import { qrCodeUrl } from '#lib/charges/urls.ts'
import { createdChargeToWire } from '#lib/charges/wire.ts'
import {
  parseDatabaseError,
  parseDatabaseRefusal,
  refuse,
  type TrocoError,
} from '#lib/core/errors.ts'
import { newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { Invariant } from '#lib/core/invariant.ts'
import type { Mode } from '#lib/core/mode.ts'
import { cents } from '#lib/core/money.ts'
import { isPlaceholderTaxId, normalizeTaxId } from '#lib/core/pix/tax-id.ts'
import { createSharing } from '#lib/db/batch.ts'
import { type Claim, nowPlusMs } from '#lib/db/claim.ts'
import { db, Prisma, retryOnConflict } from '#lib/db/client.ts'
import {
  type IdempotentRequest,
  ownKeyCondition,
  storeKeySql,
  unlockKeySql,
} from '#lib/db/idempotency.ts'
import { joinCtes, queryRows, queryShared } from '#lib/db/sql.ts'
import { wake } from '#lib/db/wake.ts'
import { hostOf } from '#lib/webhooks/target.ts'

interface Merchant {
  id: string
  name: string
  city: string
  expiresIn: number
  /** Whether the creator may not read documents, so that `webhook_url` receives them masked. */
  webhookMasked?: boolean
  /** Connection by which the account receives in the mode. Default: in test mode the simulator, else none. */
  receivingConnectionId?: string | null
  /** Id of the charge, if the caller has stored it before. */
  chargeId?: string
  /** Whether a repeated external_id is refused although the account allows it. */
  isReferenceUnique?: boolean
}

/**
 * Opens a charge. With a local gateway one INSERT is enough: a refusal or crash before it leaves
 * nothing behind, and an acknowledged charge is durable.
 */
export async function createCharge(
  merchant: Merchant,
  mode: Mode,
  request: DescribedRequest,
  callerIp: string | null,
  once?: IdempotentRequest,
): Promise<CreatedCharge> {
  const resumedId = once && (await findResumedConnection(once))
  const connectionId = resumedId ?? merchant.receivingConnectionId ?? connectionIn(mode, null)
  if (!connectionId) throw refuse('live_mode_disabled')
  if (mode === 'live' && isPlaceholderTaxId(request.client_doc))
    throw refuse('placeholder_document')
  const gateway = await gatewayOfConnection(connectionId)
  const id = once?.id ?? merchant.chargeId ?? newRoutableId(merchant.id)
  const terms = {
    txid: removeHyphens(id),
    amount: request.amount,
    expiresInSeconds: request.expires_in ?? merchant.expiresIn,
    merchantName: merchant.name,
    merchantCity: merchant.city,
    payerName: request.client_name,
    payerEmail: request.client_email,
    payerDoc: normalizeTaxId(request.client_doc),
  }
  const charge = {
    accountId: merchant.id,
    id,
    mode,
    connectionId,
    request,
    webhookMasked: merchant.webhookMasked ?? false,
    isReferenceUnique: merchant.isReferenceUnique ?? false,
    ip: request.ip ?? callerIp,
    terms,
    once,
  }
  if (!gateway.local) return openAtBank(gateway, charge)
  const opened = await withJournal(gateway, [charge]).createCharge(terms)
  if (opened.outcome !== 'ok') throw refusalOf(opened)
  const { brCode, newsInMs } = opened.value
  await insertCharge(charge, opened.value, gateway.queryAgesMs)
  if (newsInMs !== undefined) wake('charges')
  const metadata = request.metadata ?? null
  return { id, br_code: brCode, amount: request.amount, status: 'pending', metadata }
}

interface Reader {
  accountId: string
  mode: Mode
  /** Whether the request prefers the whole resource. */
  prefersRepresentation: boolean
}

/** Returns the response to the creation of a charge, whatever its status has become since. */
export async function createdResponse(reader: Reader, charge: CreatedCharge) {
  if (!reader.prefersRepresentation) return { status: 'success', data: createdChargeToWire(charge) }
  const row = await readCreatedRow(reader, charge.id)
  return { status: 'success', data: { ...serializeCharge(row), qr_code_url: qrCodeUrl(row.id) } }
}

/** Rebuilds the response under an Idempotency-Key, in the form that the repeated request prefers. */
export async function rebuildCreated(reader: Reader, id: string) {
  return createdResponse(reader, await readCreatedRow(reader, id))
}

/**
 * Reads the charge as it was created: a payment in the meantime would tell a token that may only
 * create charges what it may not read.
 */
async function readCreatedRow({ accountId, mode }: Reader, id: string): Promise<ChargeRow> {
  const row = await findCharge(accountId, mode, id)
  if (!row) throw new Invariant(`charge ${id} was acknowledged but is missing`)
  const unpaid = { paid_at: null, end_to_end_id: null, refunded_amount: 0 }
  const unchanged = { updated_at: row.created_at, cancelled_at: null, description: null }
  return { ...row, status: 'pending', ...unpaid, ...unchanged, payer: null }
}

/** Age at which the worker cancels an opening that never finished. */
const OPENING_TIMEOUT_S = 60
/** The time at which the worker ends an opening that began, or was resumed, now. */
const openingEndSql = Prisma.sql`now() + ${OPENING_TIMEOUT_S} * interval '1 second'`

/** A charge before the bank is called. Its ids are fixed: a retry creates no second charge. */
export interface NewCharge {
  accountId: string
  id: string
  mode: Mode
  connectionId: string
  request: DescribedRequest
  webhookMasked?: boolean
  isReferenceUnique?: boolean
  ip: string | null
  terms: ChargeTerms
  once: IdempotentRequest | undefined
}

/** Inserts a charge and its idempotency key. Not yet opened, it has the status `opening`: hidden. */
export async function insertCharge(
  charge: NewCharge,
  opened: OpenedCharge | null,
  queryAgesMs?: readonly number[],
): Promise<void> {
  const { request, terms, once } = charge
  if (charge.mode === 'live') await refuseOverLimit(charge.accountId, request.amount)
  const lifetimeS = terms.expiresInSeconds
  const dueInS = opened ? firstDueS(opened, queryAgesMs, lifetimeS) : OPENING_TIMEOUT_S
  const row = {
    account_id: charge.accountId,
    id: charge.id,
    mode: charge.mode,
    connection_id: charge.connectionId,
    status: opened ? 'pending' : 'opening',
    amount: request.amount,
    external_id: request.external_id ?? terms.txid,
    txid: terms.txid,
    br_code: opened?.brCode ?? null,
    client_name: request.client_name,
    client_email: request.client_email,
    client_doc: request.client_doc,
    client_phone: request.client_phone ?? null,
    webhook_url: request.webhook_url ?? null,
    webhook_host: hostOf(request.webhook_url),
    ip: charge.ip,
    metadata: request.metadata ?? null,
    utms: request.utms ?? null,
    items: request.items ?? null,
    webhook_masked: charge.webhookMasked ?? false,
    description: request.description,
    lifetime_s: lifetimeS,
    due_in_s: dueInS,
  }
  const keySql = storeKeySql(once, opened === null)
  const insert = async (slot?: Prisma.Sql) => {
    const made = insertSql([row], slot)
    const statement = keySql
      ? Prisma.sql`WITH ${joinCtes({ kept: keySql, made })} SELECT 'null' AS json`
      : made
    await retryOnConflict(() => queryRows(statement))
  }
  const repeat = async () => {
    if (charge.isReferenceUnique) throw refuse('external_id_used')
    await insert(repetitionSlotSql(charge.accountId)).catch(refuseDuplicateReference)
  }
  // The shared statement leaves out a row whose reference is in use.
  if (!once) return (await insertShared(toShared(row))) ? undefined : repeat()
  await insert().catch(error => {
    if (!isDuplicateReference(error)) throw error
    return repeat()
  })
}

const COLUMN_TYPES = {
  account_id: 'uuid',
  id: 'uuid',
  mode: 'text',
  connection_id: 'uuid',
  status: 'text',
  amount: 'bigint',
  external_id: 'text',
  txid: 'text',
  br_code: 'text',
  client_name: 'text',
  client_email: 'text',
  client_doc: 'text',
  client_phone: 'text',
  webhook_url: 'text',
  webhook_host: 'text',
  ip: 'text',
  metadata: 'json',
  utms: 'json',
  items: 'json',
  webhook_masked: 'boolean',
  description: 'text',
}
const ROW_TYPES = { ...COLUMN_TYPES, lifetime_s: 'float8', due_in_s: 'float8' }
type NewRow = Record<keyof typeof ROW_TYPES, unknown> & { id: string; account_id: string }

const insertedColumns = Object.keys(COLUMN_TYPES)
const rowTypesSql = Prisma.raw(
  Object.entries(ROW_TYPES)
    .map(([name, type]) => `${name} ${type}`)
    .join(', '),
)

/** One JSON parameter instead of 22 arrays. The text of free fields is kept as it was sent. */
function insertSql(rows: NewRow[], slot?: Prisma.Sql): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO charges (${Prisma.raw(insertedColumns.join(', '))},
      expires_at, due_at ${slot ? Prisma.sql`, external_id_slot` : Prisma.empty})
    SELECT ${Prisma.raw(insertedColumns.map(name => `s.${name}`).join(', '))},
      now() + make_interval(secs => s.lifetime_s), now() + make_interval(secs => s.due_in_s)
      ${slot ? Prisma.sql`, ${slot}` : Prisma.empty}
    FROM json_to_recordset(${JSON.stringify(rows)}::json) AS s (${rowTypesSql})`
}

const SHARED_INSERT = Prisma.sql`${insertSql([])} ON CONFLICT DO NOTHING RETURNING id`.text

interface SharedRow {
  id: string
  accountId: string
  /** Rows in this order wait for those of another process in one order only. */
  position: string
  json: string
}

function toShared(row: NewRow): SharedRow {
  const { id, account_id: accountId, mode, external_id } = row
  const position = `${accountId} ${mode} ${external_id}`
  return { id, accountId, position, json: JSON.stringify(row) }
}

/** Inserts charges of requests that wait at the same moment in one statement. Returns whether the row was inserted. */
const insertShared = createSharing<SharedRow, boolean>({
  callerOf: ({ accountId }) => accountId,
  bytesOf: ({ json }) => json.length,
  run: async rows => {
    const sorted = rows.toSorted((a, b) => (a.position < b.position ? -1 : 1))
    const made = await retryOnConflict(() =>
      queryShared(SHARED_INSERT, [`[${sorted.map(({ json }) => json).join(',')}]`]),
    )
    const ids = new Set(made.map(([id]) => id))
    return rows.map(({ id }) => ids.has(id))
  },
})

/**
 * Null if the account allows repetitions, otherwise a refusal. The lock keeps the setting until the row
 * is committed: who switches it off waits, and then sees the row (prisma/functions/troco_refuse.sql).
 */
function repetitionSlotSql(accountId: string): Prisma.Sql {
  return Prisma.sql`(SELECT CASE WHEN NOT a.repeats_external_ids
      THEN troco_refuse('external_id_used')::smallint END
    FROM accounts a WHERE a.id = ${accountId}::uuid FOR SHARE)`
}

/** A separate query is acceptable: only live mode has limits, and a bank call follows anyway. */
async function refuseOverLimit(accountId: string, amount: number): Promise<void> {
  const [account] = await db().$queryRaw<{ chargeMax: bigint | null }[]>`
    SELECT charge_max AS "chargeMax" FROM accounts WHERE id = ${accountId}::uuid`
  const chargeMax = account?.chargeMax
  if (chargeMax === null || chargeMax === undefined || amount <= cents(chargeMax)) return
  const limit = { name: 'account_charge', amount: cents(chargeMax), freesAt: null } as const
  throw refuse('limit_exceeded', { limit })
}

function firstDueS(
  { newsInMs }: OpenedCharge,
  [firstQueryMs]: readonly number[] = [],
  lifetimeS: number,
): number {
  const ages = [newsInMs, firstQueryMs].filter(ms => ms !== undefined)
  return Math.min(lifetimeS, ...ages.map(ms => ms / 1_000))
}

function refuseDuplicateReference(error: unknown): never {
  const isRefused = parseDatabaseRefusal(error)?.code === 'external_id_used'
  if (isRefused || isDuplicateReference(error)) throw refuse('external_id_used')
  throw error
}

function isDuplicateReference(error: unknown): boolean {
  return parseDatabaseError(error).constraint === 'charges_account_id_mode_external_id_key'
}

/** Pauses before calling a bank again whose response was lost. */
const RETRY_PAUSES_MS = [100, 400]

/**
 * Opens a charge at a bank. Inserts the row first, so that the worker can cancel the charge after a
 * crash at any point. Repeats a call without a response under the same id.
 */
export async function openAtBank(
  gateway: Gateway,
  charge: NewCharge,
  callsMaxMs = CALLS_MAX_MS,
): Promise<CreatedCharge> {
  // A repeated request may already have its charge, for which the bank is not called.
  const restMs = charge.once?.isResumed ? 0 : await breaker.restMs(charge.connectionId)
  if (restMs > 0) throw unavailableFor(restMs)
  const isResumed = !(await insertUnlessResumed(charge))
  if (isResumed) {
    const opened = await resumeOpening(charge)
    if (opened) return opened
  }
  const { result, mayExist } = await createUntilKnown(gateway, charge, callsMaxMs)
  if (result.outcome === 'ok') {
    const row = await publishCharge(charge, result.value, gateway.queryAgesMs)
    if (row) return row
  }
  // An earlier request, or the one that was not published, may have reached the bank.
  const isKept = mayExist || isResumed || result.outcome === 'ok'
  const refusal = refusalOf(result)
  // A bank never accepts a txid again whose charge was removed.
  const isSpent = result.outcome === 'rejected' && (await hasCall(charge, 'cancelCharge'))
  await undoOpening(charge, isKept, refusal.code === 'service_unavailable' && !isSpent)
  throw refusal
}

/**
 * Returns the connection of a row that an earlier request with the key left, or null. Its bank may
 * have the charge, whatever connection the account has been assigned since.
 */
async function findResumedConnection(once: IdempotentRequest): Promise<string | null> {
  if (!once.isResumed) return null
  const [row] = await db().$queryRaw<{ connectionId: string }[]>`
    SELECT connection_id AS "connectionId" FROM charges
    WHERE account_id = ${once.accountId}::uuid AND id = ${once.id}::uuid`
  return row?.connectionId ?? null
}

/** Returns false if the row exists: the caller repeats the key of a request that did not finish. */
async function insertUnlessResumed(charge: NewCharge): Promise<boolean> {
  try {
    await insertCharge(charge, null)
    return true
  } catch (error) {
    if (!charge.once || parseDatabaseError(error).constraint !== 'charges_pkey') throw error
    return false
  }
}

/**
 * Keeps the worker from cancelling an opening that is resumed. Returns the charge if the worker has
 * found it paid since, and refuses while the worker is ending it or if it is at another bank.
 */
async function resumeOpening({
  accountId,
  id,
  mode,
  connectionId,
  once,
}: NewCharge): Promise<CreatedCharge | null> {
  const kept = await db().$executeRaw`
    UPDATE charges SET due_at = ${openingEndSql}
    WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND status = 'opening' AND lease IS NULL AND connection_id = ${connectionId}::uuid`
  if (kept === 1) return null
  const row = await findCharge(accountId, mode, id)
  if (!row) throw refuse('service_unavailable')
  if (once) await db().$executeRaw(unlockKeySql(once))
  return { ...row, status: 'pending' }
}

/** `mayExist`: a call had no response, so the bank may have the charge, whatever it says later. */
async function createUntilKnown(
  gateway: Gateway,
  charge: NewCharge,
  callsMaxMs: number,
): Promise<{ result: GatewayResult<OpenedCharge>; mayExist: boolean }> {
  const deadline = performance.now() + callsMaxMs
  const call = (isRepeated: boolean) => {
    const timeoutMs = callTimeoutMs(deadline)
    return withJournal(gateway, [charge], { timeoutMs, isRepeated }).createCharge(charge.terms)
  }
  let result = await call(false)
  const mayExist = result.outcome === 'unknown'
  for (const pauseMs of RETRY_PAUSES_MS) {
    if (result.outcome !== 'unknown' || performance.now() + pauseMs >= deadline) break
    await sleep(pauseMs)
    result = await call(true)
  }
  return { result, mayExist }
}

const REFUSED_FIELDS = { amount: 'amount', document: 'client_doc', expiry: 'expires_in' } as const

/** Blames the caller only for a field that the caller can change; any other refusal is temporary. */
function refusalOf(result: GatewayResult<OpenedCharge>): TrocoError {
  if (result.outcome === 'rejected' && result.field)
    return refuse('refused_by_bank', { field: REFUSED_FIELDS[result.field] })
  return unavailableFor(requestedPauseMs(result))
}

export function unavailableFor(pauseMs: number): TrocoError {
  const details = pauseMs > 0 ? { retryAfterS: Math.ceil(pauseMs / 1_000) } : {}
  return refuse('service_unavailable', details)
}

/** Makes the charge payable. Returns null if the worker has claimed the charge to cancel it. */
async function publishCharge(
  { accountId, id, request, terms, once }: NewCharge,
  { brCode, newsInMs: nextStateInMs, payableForMs }: OpenedCharge,
  queryAgesMs: readonly number[] | undefined,
): Promise<CreatedCharge | null> {
  const lifetimeS = payableForMs === undefined ? terms.expiresInSeconds : payableForMs / 1_000
  const dueInS =
    nextStateInMs === undefined ? lifetimeS : Math.min(lifetimeS, nextStateInMs / 1_000)
  const nextQuery = nextQueryAt(queryAgesMs)
  const ctes = joinCtes({
    published: Prisma.sql`
        UPDATE charges c SET status = 'pending', br_code = ${brCode}, updated_at = now(),
          external_id = ${request.external_id ?? terms.txid},
          expires_at = now() + make_interval(secs => ${lifetimeS}::float8),
          due_at = LEAST(now() + make_interval(secs => ${dueInS}::float8), ${nextQuery})
        WHERE c.account_id = ${accountId}::uuid AND c.id = ${id}::uuid
          AND c.status = 'opening' AND c.lease IS NULL
        RETURNING c.id, c.br_code, c.amount, c.status, c.metadata`,
    done: once ? Prisma.sql`${unlockKeySql(once)} AND EXISTS (SELECT 1 FROM published)` : null,
  })
  const statement = Prisma.sql`
    WITH ${ctes} SELECT row_to_json(p)::text AS json FROM published p`
  const [row] = await retryOnConflict(() => queryRows<CreatedCharge>(statement)).catch(
    refuseDuplicateReference,
  )
  if (row && nextStateInMs !== undefined) wake('charges')
  return row ?? null
}

const PAUSE_MAX_MS = 10 * 60_000

/**
 * Ends an unfinished opening: removes the charge at the bank and deletes it, or credits it if it was
 * paid. Postpones it while the bank does not say which, or may still receive it.
 */
export async function cancelOpening(gateway: Gateway, claim: Claim): Promise<void> {
  const removal = await removeAtBank(gateway, claim)
  if (removal.state === 'paid') return creditOpening(claim, removal)
  const isGone =
    removal.state === 'gone' ||
    (removal.state === 'absent' && !(await mayArrive(claim, 'createCharge')))
  if (!isGone) {
    const askedMs = removal.state === 'unconfirmed' ? removal.pauseMs : 0
    const pauseMs = doublingPauseMs(claim.attempts, RETRY_PAUSE_MS, PAUSE_MAX_MS)
    return postponeCharges([claim], nowPlusMs(Math.max(askedMs, pauseMs)))
  }
  await deleteOpening(claim)
}

/**
 * After a crash between the statements, the charge is pending or still opening, and its payments are
 * found again. Payments of another amount alone end the opening: the bank takes no other for it.
 */
async function creditOpening(claim: Claim, { brCode = '', payments }: PaidState): Promise<void> {
  await db().$executeRaw`
    UPDATE charges SET status = 'pending', br_code = ${brCode}, updated_at = now()
    WHERE account_id = ${claim.accountId}::uuid AND id = ${claim.id}::uuid
      AND status = 'opening' AND lease = ${claim.lease}::uuid
      AND amount = ANY (${payments.map(({ amount }) => amount)}::bigint[])`
  await receivePayments([{ ...claim, payments, chargeId: claim.id }])
  await deleteOpening(claim)
}

async function deleteOpening({ accountId, id, lease }: Claim): Promise<void> {
  await db().$executeRaw`
    DELETE FROM charges WHERE account_id = ${accountId}::uuid AND id = ${id}::uuid
      AND status = 'opening' AND lease = ${lease}::uuid`
}

/**
 * Undoes an opening before a refusal: nothing can be paid, and the merchant's reference is free. If
 * the bank may have the charge, its row stays for the worker to cancel, also if the worker ends it
 * now. With its key kept, a repeated request uses the same txid, whether or not the row stays.
 */
async function undoOpening(
  charge: NewCharge,
  mayExist: boolean,
  isKeyKept: boolean,
): Promise<void> {
  const { accountId, id, terms, once } = charge
  const row = Prisma.sql`account_id = ${accountId}::uuid AND id = ${id}::uuid
    AND status = 'opening'`
  if (mayExist) {
    const kept = await db().$executeRaw`
      UPDATE charges SET external_id = ${terms.txid}, external_id_slot = 0, lease = NULL, due_at = ${openingEndSql}
      WHERE ${row}`
    if (kept === 0) await insertAgain(charge)
  } else await db().$executeRaw`DELETE FROM charges WHERE ${row}`
  if (!once) return
  if (isKeyKept) {
    await db().$executeRaw`
      UPDATE idempotency_keys SET locked_until = now() WHERE ${ownKeyCondition(once)}`
  } else await db().$executeRaw`DELETE FROM idempotency_keys WHERE ${ownKeyCondition(once)}`
}

/** The worker may have deleted the row, or found the charge paid. */
async function insertAgain(charge: NewCharge): Promise<void> {
  const request = { ...charge.request, external_id: undefined }
  await insertCharge({ ...charge, request, once: undefined }, null).catch(error => {
    if (parseDatabaseError(error).constraint !== 'charges_pkey') throw error
  })
}
