import { createAccount } from '#lib/accounts/create.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { recordAudit } from '#lib/audit/record.ts'
import { buildSimulatedCode, newEndToEndId, simulator } from '#lib/banks/simulator.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { type Payment, settleCharges } from '#lib/charges/receive.ts'
import { newRoutableId, removeHyphens } from '#lib/core/ids.ts'
import { foldText } from '#lib/core/pix/br-code.ts'
import { db, type Prisma, type Tx, transaction } from '#lib/db/client.ts'
import { hashPassword, verifyPassword } from '#lib/people/password.ts'
import { registerUser } from '#lib/people/users.ts'
import { problemText } from '#lib/webhooks/problem.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

export const DEMO_MERCHANT = 'demo@troco.local'
export const DEMO_ADMIN = 'admin@troco.local'

const ACTOR = { type: 'system' } as const
/** Action recorded last. Without it, the creation of a demo account was interrupted. */
const DEMO_COMPLETED = 'demo.made'

/** Creates the demo merchant, admin and account, or returns the existing account. */
export async function createDemoData(password: string): Promise<Account> {
  await upsertDemoUsers(password)
  for (const account of await listDemoAccounts()) {
    const completion = await db().auditRecord.findFirst({
      where: { accountId: account.id, action: DEMO_COMPLETED },
    })
    if (completion) return account
    await retireAccount(account.id)
  }
  const account = await createAccount({ name: 'Loja Aurora', ownerEmail: DEMO_MERCHANT }, ACTOR)
  await createHistory(account)
  await transaction(tx =>
    recordAudit(tx, { actor: ACTOR, action: DEMO_COMPLETED, accountId: account.id }),
  )
  return account
}

/** Creates both demo users, or updates their passwords after DEMO_PASSWORD changed. */
async function upsertDemoUsers(password: string): Promise<void> {
  const people = [
    { email: DEMO_MERCHANT, name: 'Aurora', isAdmin: false },
    { email: DEMO_ADMIN, name: 'Admin', isAdmin: true },
  ]
  for (const person of people) {
    const { email } = person
    const user = await db().user.findUnique({ where: { email } })
    if (user && (await verifyPassword(password, user.passwordHash))) continue
    const passwordHash = await hashPassword(password)
    if (user) await db().user.update({ where: { email }, data: { passwordHash } })
    else await registerUser({ ...person, passwordHash, verifiedBy: 'operator' }, ACTOR)
  }
}

async function listDemoAccounts(): Promise<Account[]> {
  const rows = await db().membership.findMany({
    where: { user: { email: DEMO_MERCHANT } },
    orderBy: { createdAt: 'asc' },
  })
  const accounts = await Promise.all(
    rows.map(({ accountId: id }) => db().account.findUniqueOrThrow({ where: { id } })),
  )
  return accounts as Account[]
}

/**
 * Suspends an incomplete demo account and removes its members, as ledger entries are undeletable.
 */
async function retireAccount(accountId: string): Promise<void> {
  await suspendAccount(accountId, 'Creation of the demo data was interrupted', ACTOR)
  await db().membership.deleteMany({ where: { accountId } })
}

const DAY_MS = 86_400_000
const HISTORY_DAYS = 90
/** Total received by the demo merchant, in cents, including the welcome charge. */
const RECEIVED_TOTAL = 2_500_000
const WELCOME_AMOUNT = 100_000
const PAID_CHARGE_COUNT = 72
const RECEIVER = {
  webhookUrl: 'https://loja.example.com/webhooks/troco',
  webhookHost: 'loja.example.com',
}
/** The latest payments, which the receiver is notified of. */
const RECEIVED_COUNT = 2
/** Charges settled by one statement: 24 exceeded its time limit on a busy machine's first start. */
const SETTLED_AT_ONCE = 8

const PAYERS = [
  ['Ana Beatriz Rocha', '52998224725'],
  ['Mercearia Ñandú & Cia', '12ABC34501DE35'],
  ['João Conceição', '11144477735'],
  ['Estúdio Vértice Ltda', '11222333000181'],
  ['Marcos Teixeira', '39053344705'],
  ['Livraria da Praça', '12345678000195'],
  ['Helena Prado', '94271564656'],
  ['Oficina do Pão', '60746948A0B157'],
] as const

interface PlannedPayment {
  id: string
  amount: number
  createdAt: Date
  paidAt: Date
  reference: string
}

/** Creates 90 days of charges and withdrawals in every state, with deliveries. */
async function createHistory(account: Account): Promise<void> {
  const now = Date.now()
  const planned = planPayments(account, now)
  await insertCharges(account, planned)
  const third = Math.floor(planned.length / 3)
  await payCharges(account, planned.slice(0, third))
  await withdraw(
    account,
    640_000,
    'financeiro@aurora.example',
    planned[third - 1]?.paidAt ?? null,
    'approved',
  )
  await payCharges(account, planned.slice(third, 2 * third))
  await withdraw(
    account,
    85_000,
    'reject@aurora.example',
    planned[2 * third - 1]?.paidAt ?? null,
    'rejected',
  )
  await payCharges(account, planned.slice(2 * third))
  await withdraw(account, 150_000, 'hold@aurora.example', null, 'pending')
  await createUnpaidCharges(account, now)
  await settleDeliveries(account)
}

/** Plans deterministic payments, more frequent and larger towards the present. */
function planPayments(account: Account, now: number): PlannedPayment[] {
  const weights = Array.from(
    { length: PAID_CHARGE_COUNT - 1 },
    (_, index) => 40 + ((index * 37) % 61) + index,
  )
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const remainingTotal = RECEIVED_TOTAL - WELCOME_AMOUNT
  const amounts = weights.map(weight => Math.floor((remainingTotal * weight) / sum))
  amounts[0] =
    (amounts[0] ?? 0) + remainingTotal - amounts.reduce((total, amount) => total + amount, 0)
  return [WELCOME_AMOUNT, ...amounts].map((amount, index) => {
    const age =
      HISTORY_DAYS * (1 - Math.sqrt(index / PAID_CHARGE_COUNT)) * DAY_MS +
      ((index * 53) % 24) * 60_000
    const createdAt = new Date(now - Math.max(age, 300_000))
    const paidAt = new Date(createdAt.getTime() + 20_000 + ((index * 7_919) % 180_000))
    const reference = index === 0 ? 'welcome' : `pedido-${1000 + index}`
    return { id: newRoutableId(account.id, createdAt), amount, createdAt, paidAt, reference }
  })
}

async function insertCharges(account: Account, planned: PlannedPayment[]): Promise<void> {
  const payee = { merchantName: account.name, merchantCity: account.city }
  const data = planned.map((charge, index) => {
    const [name, document] = PAYERS[index % PAYERS.length] ?? PAYERS[0]
    const txid = removeHyphens(charge.id)
    return {
      accountId: account.id,
      id: charge.id,
      mode: 'test',
      status: 'pending',
      amount: BigInt(charge.amount),
      externalId: charge.reference,
      txid,
      brCode: buildSimulatedCode({ txid, amount: charge.amount, ...payee }),
      clientName: name,
      clientEmail: `${foldText(name.split(' ')[0] ?? '', 20).toLowerCase()}@example.com`,
      clientDoc: document,
      ...(index >= planned.length - RECEIVED_COUNT ? RECEIVER : {}),
      expiresAt: new Date(charge.createdAt.getTime() + DAY_MS),
      dueAt: new Date(charge.createdAt.getTime() + DAY_MS),
      createdAt: charge.createdAt,
      updatedAt: charge.createdAt,
    }
  })
  await db().charge.createMany({ data })
}

async function payCharges(account: Account, planned: PlannedPayment[]): Promise<void> {
  const payments: Payment[] = planned.map(charge => ({
    accountId: account.id,
    chargeId: charge.id,
    endToEndId: newEndToEndId(charge.paidAt),
    amount: charge.amount,
    paidAt: charge.paidAt,
    bookedAt: charge.paidAt,
  }))
  for (let settled = 0; settled < payments.length; settled += SETTLED_AT_ONCE)
    await settleCharges(payments.slice(settled, settled + SETTLED_AT_ONCE))
}

async function withdraw(
  account: Account,
  amount: number,
  key: string,
  after: Date | null,
  outcome: 'approved' | 'rejected' | 'pending',
): Promise<void> {
  const bookedAt = after ? new Date(after.getTime() + 1_000) : undefined
  const order = { amount, pixKeyType: 'email', pixKey: key, dictKey: key, bookedAt } as const
  const { id: withdrawalId } = await createWithdrawal(account.id, 'test', order)
  const settlement = { accountId: account.id, withdrawalId, bookedAt }
  if (outcome === 'approved' && after) {
    await approveWithdrawal({
      ...settlement,
      endToEndId: newEndToEndId(after),
    })
  } else if (outcome === 'rejected') {
    await rejectWithdrawal({ ...settlement, reason: { code: 'key_refused', params: {} } })
  } else {
    const id = removeHyphens(withdrawalId)
    await simulator.sendPayout({ id, amount, dictKey: key, ownerDoc: null })
  }
}

/** Creates one expired, one failed and two pending charges. */
async function createUnpaidCharges(account: Account, now: number): Promise<void> {
  const planned = [
    { age: 3 * DAY_MS, amount: 78_000, reference: 'pedido-1100' },
    { age: DAY_MS * 1.5, amount: 1_500, reference: 'pedido-1101' },
    { age: 240_000, amount: 123_456, reference: 'pedido-1102' },
    { age: 60_000, amount: 24_990, reference: 'pedido-1103' },
  ].map(({ age, amount, reference }) => {
    const createdAt = new Date(now - age)
    return {
      id: newRoutableId(account.id, createdAt),
      amount,
      createdAt,
      paidAt: createdAt,
      reference,
    }
  })
  await insertCharges(account, planned)
  const [expired, failed] = planned
  if (expired) await closeCharge(account.id, expired.id, 'expired')
  if (failed) await closeCharge(account.id, failed.id, 'failed')
}

/** Pauses before each delivery attempt, in seconds: the webhook schedule without its jitter. */
const ATTEMPT_DELAYS_S = [0, 5, 300, 1_800, 7_200, 18_000, 36_000]

const FAILED = { code: 'status', params: { status: 500 } } as const

/** Time from the event to the first attempt, as the worker needs it. */
const FIRST_ATTEMPT_MS = 400

/**
 * Sets the delivery of the first payment to exhausted, that of the second to delivered and all
 * others to stopped. The first payment must be older than the whole schedule of attempts.
 */
async function settleDeliveries({ id: accountId }: Account): Promise<void> {
  const [exhausted, delivered] = await db().$queryRaw<DemoDelivery[]>`
    SELECT d.account_id AS "accountId", d.id, c.paid_at AS "paidAt"
    FROM deliveries d JOIN charges c ON c.account_id = d.account_id AND c.id = d.subject_id
    WHERE d.account_id = ${accountId}::uuid AND c.paid_at IS NOT NULL ORDER BY d.sequence LIMIT 2`
  await transaction(async tx => {
    if (delivered) {
      const attempt = { responseStatus: 200, responseBody: 'ok', durationMs: 38 }
      const last = await recordAttempts(tx, delivered, [0], attempt)
      const done = { status: 'delivered', deliveredAt: last, attempts: 1 }
      await setOutcome(tx, delivered, last, done)
    }
    if (exhausted) {
      const attempt = {
        responseStatus: 500,
        responseBody: 'Internal Server Error',
        problem: problemText(FAILED),
        problemCode: FAILED.code,
        problemParams: FAILED.params,
        durationMs: 112,
      }
      const last = await recordAttempts(tx, exhausted, ATTEMPT_DELAYS_S, attempt)
      const done = { status: 'exhausted', attempts: ATTEMPT_DELAYS_S.length }
      await setOutcome(tx, exhausted, last, done)
    }
    // The receiver does not exist, so pending deliveries would be retried in vain.
    await tx.delivery.updateMany({
      where: { accountId, status: 'pending' },
      data: { status: 'stopped', dueAt: null },
    })
  })
}

interface DemoDelivery {
  accountId: string
  id: string
  paidAt: Date
}

/** Records the attempts, and returns the time of the last one. */
async function recordAttempts(
  tx: Tx,
  { accountId, id: deliveryId, paidAt }: DemoDelivery,
  delaysS: number[],
  result: Omit<
    Prisma.DeliveryAttemptCreateManyInput,
    'accountId' | 'deliveryId' | 'number' | 'requestHeaders'
  >,
): Promise<Date> {
  let at = new Date(paidAt.getTime() + FIRST_ATTEMPT_MS)
  const requestHeaders = { 'content-type': 'application/json' }
  const data = delaysS.map((delayS, index) => {
    at = new Date(at.getTime() + delayS * 1_000)
    const attempt = { accountId, deliveryId, number: index + 1, createdAt: at, requestHeaders }
    return { ...attempt, ...result }
  })
  await tx.deliveryAttempt.createMany({ data })
  return at
}

function setOutcome(
  tx: Tx,
  { accountId, id, paidAt: createdAt }: DemoDelivery,
  updatedAt: Date,
  outcome: Prisma.DeliveryUpdateInput,
) {
  const data = { ...outcome, createdAt, updatedAt, dueAt: null }
  return tx.delivery.update({ where: { accountId_id: { accountId, id } }, data })
}
