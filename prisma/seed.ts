import { createAccount, createUser } from '#lib/accounts/create.ts'
import { hashPassword, isPassword } from '#lib/accounts/password.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { type Payment, settleCharges } from '#lib/charges/settle.ts'
import { db } from '#lib/db/client.ts'
import { transaction } from '#lib/db/transaction.ts'
import { simulator } from '#lib/gateway/simulator.ts'
import { newId } from '#lib/ids.ts'
import { buildDynamicCode, foldText } from '#lib/pix/br-code.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/settle.ts'

export const DEMO_MERCHANT = 'demo@troco.local'
export const DEMO_ADMIN = 'admin@troco.local'

const ACTOR = { type: 'system' } as const
const DAY_MS = 86_400_000
const DAYS = 90
/** What the demo merchant has received in all: R$ 25.000,00, the welcome of R$ 1.000,00 included. */
const RECEIVED = 2_500_000
const WELCOME = 100_000
const PAID_CHARGES = 72
const RECEIVER = 'https://loja.example.com/webhooks/troco'

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

interface Planned {
  id: string
  amount: number
  createdAt: Date
  paidAt: Date
  reference: string
}

/** The merchant and the admin that a newcomer signs in as, with the password that is printed. */
export async function makeDemoWorld(password: string): Promise<Account> {
  const existing = await db().user.findUnique({
    where: { email: DEMO_MERCHANT },
    include: { memberships: { include: { account: true } } },
  })
  const made = existing?.memberships[0]?.account
  if (made) {
    await keepPassword(password)
    return made as Account
  }
  const passwordHash = await hashPassword(password)
  const merchant = { email: DEMO_MERCHANT, name: 'Aurora', passwordHash, isAdmin: false }
  if (!existing) await createUser(merchant, ACTOR)
  if (!(await db().user.findUnique({ where: { email: DEMO_ADMIN } }))) {
    await createUser({ email: DEMO_ADMIN, name: 'Admin', passwordHash, isAdmin: true }, ACTOR)
  }
  const account = await createAccount({ name: 'Loja Aurora', ownerEmail: DEMO_MERCHANT }, ACTOR)
  await fillPast(account)
  return account
}

/** A DEMO_PASSWORD that was changed since is the one that works. */
async function keepPassword(password: string): Promise<void> {
  const users = await db().user.findMany({ where: { email: { in: [DEMO_MERCHANT, DEMO_ADMIN] } } })
  for (const user of users) {
    if (await isPassword(password, user.passwordHash)) continue
    await db().user.update({
      where: { id: user.id },
      data: { passwordHash: await hashPassword(password) },
    })
  }
}

/** Ninety days of business: money came in, some went out, some did not get through. */
async function fillPast(account: Account): Promise<void> {
  const now = Date.now()
  const planned = planPayments(now)
  await writeCharges(account, planned)
  const third = Math.floor(planned.length / 3)
  await settle(account, planned.slice(0, third))
  await withdraw(
    account,
    640_000,
    'financeiro@aurora.example',
    planned[third - 1]?.paidAt ?? null,
    'approved',
  )
  await settle(account, planned.slice(third, 2 * third))
  await withdraw(
    account,
    85_000,
    'reject@aurora.example',
    planned[2 * third - 1]?.paidAt ?? null,
    'rejected',
  )
  await settle(account, planned.slice(2 * third))
  await withdraw(account, 150_000, 'hold@aurora.example', null, 'pending')
  await writeOpenEnds(account, now)
  await tellDeliveries(account)
}

/** The same amounts and gaps on every machine; a little more business towards the present. */
function planPayments(now: number): Planned[] {
  const weights = Array.from({ length: PAID_CHARGES - 1 }, (_, at) => 40 + ((at * 37) % 61) + at)
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const shared = RECEIVED - WELCOME
  const amounts = weights.map(weight => Math.floor((shared * weight) / sum))
  amounts[0] = (amounts[0] ?? 0) + shared - amounts.reduce((total, amount) => total + amount, 0)
  return [WELCOME, ...amounts].map((amount, at) => {
    const age = DAYS * (1 - Math.sqrt(at / PAID_CHARGES)) * DAY_MS + ((at * 53) % 24) * 60_000
    const createdAt = new Date(now - Math.max(age, 300_000))
    const paidAt = new Date(createdAt.getTime() + 20_000 + ((at * 7_919) % 180_000))
    const reference = at === 0 ? 'welcome' : `pedido-${1000 + at}`
    return { id: newId(createdAt), amount, createdAt, paidAt, reference }
  })
}

async function writeCharges(account: Account, planned: Planned[]): Promise<void> {
  const data = planned.map((charge, at) => {
    const [name, document] = PAYERS[at % PAYERS.length] ?? PAYERS[0]
    const txid = charge.id.replaceAll('-', '')
    return {
      accountId: account.id,
      id: charge.id,
      mode: 'test',
      status: 'pending',
      amount: BigInt(charge.amount),
      externalId: charge.reference,
      txid,
      brCode: codeOf(account, txid, charge.amount),
      clientName: name,
      clientEmail: `${foldText(name.split(' ')[0] ?? '', 20).toLowerCase()}@example.com`,
      clientDoc: document,
      webhookUrl: at >= planned.length - 2 ? RECEIVER : null,
      expiresAt: new Date(charge.createdAt.getTime() + DAY_MS),
      createdAt: charge.createdAt,
      updatedAt: charge.createdAt,
    }
  })
  await db().charge.createMany({ data })
}

function codeOf(account: Account, txid: string, amount: number): string {
  const location = `pix.example.test/qr/v2/${txid}`
  return buildDynamicCode({
    location,
    amount,
    merchantName: account.name,
    merchantCity: account.city,
  })
}

async function settle(account: Account, planned: Planned[]): Promise<void> {
  const payments: Payment[] = planned.map(charge => ({
    accountId: account.id,
    chargeId: charge.id,
    endToEndId: endToEndId(charge),
    paidAt: charge.paidAt,
    bookedAt: charge.paidAt,
  }))
  await settleCharges(payments)
}

function endToEndId({ id, paidAt }: { id: string; paidAt: Date }): string {
  const minute = paidAt.toISOString().replace(/\D/g, '').slice(0, 12)
  return `E00000000${minute}${id.replaceAll('-', '').slice(-11)}`
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
      endToEndId: endToEndId({ id: withdrawalId, paidAt: after }),
    })
  } else if (outcome === 'rejected') {
    await rejectWithdrawal({ ...settlement, reason: 'The receiving bank refused the key' })
  } else {
    await simulator.sendPayout({ id: withdrawalId.replaceAll('-', ''), amount, dictKey: key })
  }
}

/** One charge in each state that brought no money, and two that may still be paid. */
async function writeOpenEnds(account: Account, now: number): Promise<void> {
  const open = [
    { age: 3 * DAY_MS, amount: 78_000, reference: 'pedido-1100' },
    { age: DAY_MS * 1.5, amount: 1_500, reference: 'pedido-1101' },
    { age: 240_000, amount: 123_456, reference: 'pedido-1102' },
    { age: 60_000, amount: 24_990, reference: 'pedido-1103' },
  ].map(({ age, amount, reference }) => {
    const createdAt = new Date(now - age)
    return { id: newId(createdAt), amount, createdAt, paidAt: createdAt, reference }
  })
  await writeCharges(account, open)
  const [expired, failed, ...pending] = open
  if (expired) await closeCharge(account.id, expired.id, 'expired')
  if (failed) await closeCharge(account.id, failed.id, 'failed')
  await db().$executeRaw`UPDATE charges SET due_at = expires_at
    WHERE account_id = ${account.id}::uuid AND id = ANY (${pending.map(({ id }) => id)}::uuid[])`
}

/** One delivery that arrived, and one whose tries are used up. */
async function tellDeliveries(account: Account): Promise<void> {
  const [delivered, exhausted] = await db().delivery.findMany({
    where: { accountId: account.id, event: { type: 'transaction.paid' } },
    orderBy: { sequence: 'asc' },
    take: 2,
  })
  const requestHeaders = { 'content-type': 'application/json' }
  await transaction(async tx => {
    if (delivered) {
      const { accountId, id } = delivered
      const answer = { responseStatus: 200, responseBody: 'ok', durationMs: 38 }
      const attempt = { accountId, deliveryId: id, number: 1, requestHeaders, ...answer }
      await tx.deliveryAttempt.create({ data: attempt })
      const done = { status: 'delivered', deliveredAt: new Date(), attempts: 1, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    if (exhausted) {
      const { accountId, id } = exhausted
      const answer = { responseStatus: 500, responseBody: 'Internal Server Error', durationMs: 112 }
      const attempts = Array.from({ length: 7 }, (_, at) => at + 1)
      await tx.deliveryAttempt.createMany({
        data: attempts.map(number => ({
          accountId,
          deliveryId: id,
          number,
          requestHeaders,
          ...answer,
        })),
      })
      const done = { status: 'exhausted', attempts: attempts.length, dueAt: null }
      await tx.delivery.update({ where: { accountId_id: { accountId, id } }, data: done })
    }
    // The receiver is made up: what else would be told it must not wait for it for ever.
    await tx.delivery.updateMany({
      where: { accountId: account.id, status: 'pending' },
      data: { status: 'stopped', dueAt: null },
    })
  })
}
