import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { type Payment, receivePayment, settleCharges } from '#lib/charges/receive.ts'
import { isTrocoError, parseDatabaseError } from '#lib/core/errors.ts'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { isKeyStored } from '#lib/db/idempotency.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import { superuserUrlOf } from '#lib/testing/database.ts'
import { addEndpoint } from '#lib/testing/deliveries.ts'
import { countDeadlocks } from '#lib/testing/due-deliveries.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { pickSize } from '#lib/testing/size.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

inOwnDatabase()

const CLIENTS = 12
const ACCOUNTS = 12
/** Charges of each account. */
const CHARGES = pickSize(25, 1_000)
const KILL_EVERY_MS = 120
const AMOUNT = 1_000
const ORDER = { pixKeyType: 'email', pixKey: 'a@example.com', dictKey: 'a@example.com' } as const
/** SQLSTATE of a text with NUL. */
const UNSTORABLE = '22021'
const random = new Random(chooseSeed(), 0)

test('12 clients book batches of many accounts in opposite orders while sessions are killed', async () => {
  const merchants = await Promise.all(Array.from({ length: ACCOUNTS }, () => makeMerchant()))
  for (const merchant of merchants) await addEndpoint(merchant, 'https://receiver.test/')
  const payments = (await Promise.all(merchants.map(makePayments))).flat()
  const tasks = [...makeTasks(payments, merchants)].values()
  const counts = { settled: 0, held: 0, refused: 0, failed: 0 }
  const stop = new AbortController()
  const kills = killSessions(stop.signal)
  const client = async () => {
    for (const task of tasks) await untilDone(() => run(task, counts), counts)
  }
  await Promise.all(Array.from({ length: CLIENTS }, client)).finally(() => stop.abort())
  const killed = await kills
  process.stdout.write(`${JSON.stringify({ killed, ...counts })}\n`)
  expect(killed).toBeGreaterThan(0)
  expect(counts.held).toBeGreaterThan(0)

  const paid = await db().charge.count({ where: { status: 'paid' } })
  expect(paid).toBe(payments.length)
  expect(await db().ledgerTransfer.count({ where: { kind: 'charge_paid' } })).toBe(paid)
  expect(await db().event.count({ where: { type: 'transaction.paid' } })).toBe(paid)
  expect(
    await db().ledgerAccount.count({ where: { ledger: 'available', balance: { lt: 0 } } }),
  ).toBe(0)
  expect(await readGaps()).toEqual([])
  const { findings } = await verifyLedger(db())
  expect(findings.filter(({ violation }) => violation)).toEqual([])
  expect(await countDeadlocks()).toBe(0)
}, 600_000)

/** Three of ten are refused: they exceed what the account ever has. */
const SENT = pickSize(400, 4_000)
/** Enough for more requests than are sent. */
const FUNDS = 100 * SENT * AMOUNT

test('requests of one account that share statements are made once while sessions are killed', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, FUNDS)
  const counts = { made: 0, refused: 0, failed: 0 }
  const sent = { made: 0, refused: 0 }
  const killed = { count: 0 }
  // On a fast machine all could be made before the first session is killed.
  function* makeRequests() {
    for (let index = 0; index < SENT || killed.count === 0; index++) {
      const isRefused = index % 10 < 3
      sent[isRefused ? 'refused' : 'made']++
      const order = { ...ORDER, amount: isRefused ? FUNDS + 1 : AMOUNT }
      yield { order, once: makeIdempotentRequest(merchant.id) }
    }
  }
  const requests = makeRequests()
  const stop = new AbortController()
  const kills = killSessions(stop.signal, killed)
  const client = async () => {
    for (const { order, once } of requests)
      await untilDone(async () => {
        const code = await insertWithdrawal(merchant.id, 'test', order, once).then(
          () => 'made',
          error => {
            if (isTrocoError(error)) return error.code
            // The statement was stored before its session was killed.
            if (isKeyStored(error)) return 'made'
            throw error
          },
        )
        expect(code).toBe(order.amount > FUNDS ? 'insufficient_balance' : 'made')
        counts[code === 'made' ? 'made' : 'refused']++
      }, counts)
  }
  await Promise.all(Array.from({ length: 4 * CLIENTS }, client)).finally(() => stop.abort())
  await kills
  process.stdout.write(`${JSON.stringify({ ...counts, killed: killed.count })}\n`)

  const { made } = sent
  expect(counts).toMatchObject(sent)
  expect(await db().withdrawal.count({ where: { accountId: merchant.id } })).toBe(made)
  expect(await db().idempotencyKey.count({ where: { accountId: merchant.id } })).toBe(made)
  const outbound = made * AMOUNT
  expect(await readBalances(merchant.id, 'test')).toEqual({ available: FUNDS - outbound, outbound })
  await expectBalancedLedger(merchant.id)
}, 600_000)

/** Payments that share statements until at least so many were sent, and so many sessions were killed meanwhile. */
const PAID = pickSize(400, 4_000)
const KILLED_MIN = 3
type Refused = 'of another amount' | 'booked before' | 'unstorable'
const REFUSED: Refused[] = ['of another amount', 'booked before', 'unstorable']

test('payments of one account that share statements are booked once while sessions are killed', async () => {
  const merchant = await makeMerchant()
  await addEndpoint(merchant, 'https://receiver.test/')
  const counts = { failed: 0 }
  const killed = { count: 0 }
  const credited = new Map<string, string>()
  const refused = new Map<string, Refused>()
  const suspended = new Set<string>()

  /** The answer of an attempt whose session was killed is lost: the next one finds the payment booked. */
  async function pay(chargeId: string, kind: Refused | null): Promise<void> {
    const payment = makePayment(kind === 'of another amount' ? AMOUNT + 1 : AMOUNT)
    if (kind === 'booked before') payment.endToEndId = [...credited.values()][0] ?? ''
    if (kind === 'unstorable') payment.endToEndId += '\0'
    let attempts = 0
    await untilDone(async () => {
      attempts++
      const report = { accountId: merchant.id, chargeId, payments: [payment] }
      const answer = await receivePayment(report).then(
        row => row && { id: row.id, status: row.status, endToEndId: row.end_to_end_id },
        error => {
          if (parseDatabaseError(error).code === UNSTORABLE) return UNSTORABLE
          throw error
        },
      )
      if (kind === 'unstorable') expect(answer).toBe(UNSTORABLE)
      else if (kind || (attempts > 1 && answer === null)) expect(answer).toBeNull()
      else expect(answer).toEqual({ id: chargeId, status: 'paid', endToEndId: payment.endToEndId })
    }, counts)
    if (kind) refused.set(chargeId, kind)
    else credited.set(chargeId, payment.endToEndId)
    if (kind === 'of another amount') suspended.add(payment.endToEndId)
  }

  let sent = 0
  const stop = new AbortController()
  const kills = killSessions(stop.signal, killed)
  const client = async () => {
    while (sent < PAID || killed.count < KILLED_MIN) {
      sent++
      const kind = credited.size > 0 && random.chance(0.3) ? random.pick(REFUSED) : null
      await untilDone(async () => pay((await openCharge(merchant, AMOUNT)).id, kind), counts)
    }
  }
  await Promise.all(Array.from({ length: 4 * CLIENTS }, client)).finally(() => stop.abort())
  await kills
  const { size } = credited
  process.stdout.write(
    `${JSON.stringify({ credited: size, refused: refused.size, ...counts, killed: killed.count })}\n`,
  )
  expect(refused.size).toBeGreaterThan(0)

  const ofMerchant = { accountId: merchant.id }
  const paid = await db().charge.findMany({ where: { ...ofMerchant, status: 'paid' } })
  const paidBy = (pairs: Iterable<[string, string | null]>) => Object.fromEntries(pairs)
  expect(paidBy(paid.map(({ id, endToEndId }) => [id, endToEndId]))).toEqual(paidBy(credited))
  expect(await db().ledgerTransfer.count({ where: ofMerchant })).toBe(size)
  expect(await db().bookedPayment.count({ where: ofMerchant })).toBe(size)
  for (const type of ['transaction.paid', 'transaction.amount_mismatch'])
    expect(await db().event.count({ where: { ...ofMerchant, type } })).toBe(
      type === 'transaction.paid' ? size : suspended.size,
    )
  expect(await db().delivery.count({ where: ofMerchant })).toBe(
    await db().event.count({ where: ofMerchant }),
  )
  const unmatched = await db().unmatchedPayment.findMany({
    where: { chargeAccountId: merchant.id },
  })
  expect(unmatched.map(({ endToEndId }) => endToEndId).sort()).toEqual([...suspended].sort())
  expect(await countDeadlocks()).toBe(0)
  const balances = await readBalances(merchant.id, 'test')
  expect(balances).toEqual({ available: size * AMOUNT, outbound: 0 })
  expect(await readGaps()).toEqual([])
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
}, 600_000)

interface Counts {
  settled: number
  held: number
  refused: number
  failed: number
}

type Task = { settle: Payment[] } | { withdraw: Account; amount: number; isSent: boolean }

async function makePayments(merchant: Account): Promise<Payment[]> {
  const payments: Payment[] = []
  while (payments.length < CHARGES) {
    const { id } = await openCharge(merchant, AMOUNT)
    payments.push({ ...makePayment(AMOUNT), accountId: merchant.id, chargeId: id })
  }
  return payments
}

/** Each batch comes twice, in opposite orders, with a withdrawal in between. */
function* makeTasks(payments: Payment[], merchants: Account[]): Generator<Task> {
  const rest = payments.toSorted(() => random.fraction() - 0.5)
  while (rest.length > 0) {
    const batch = rest.splice(0, random.between(1, 12))
    yield { settle: batch }
    yield {
      withdraw: random.pick(merchants),
      amount: random.between(AMOUNT, 4 * AMOUNT),
      isSent: random.chance(0.5),
    }
    yield { settle: batch.toReversed() }
  }
}

async function run(task: Task, counts: Counts): Promise<void> {
  if ('settle' in task) {
    const rows = await settleCharges(task.settle)
    counts.settled += rows.length
    return
  }
  const accountId = task.withdraw.id
  const made = await insertWithdrawal(accountId, 'test', { ...ORDER, amount: task.amount }).catch(
    error => {
      if (!isTrocoError(error) || error.code !== 'insufficient_balance') throw error
      counts.refused++
    },
  )
  if (!made) return
  counts.held++
  const settlement = { accountId, withdrawalId: made.id }
  await (task.isSent
    ? approveWithdrawal({ ...settlement, endToEndId: null })
    : rejectWithdrawal({ ...settlement, reason: REFUSAL }))
}

/** A killed session leaves unknown whether its statement was stored: the task is repeated. */
async function untilDone(work: () => Promise<void>, counts: { failed: number }): Promise<void> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (
        !/terminat|closed|connection error|ECONNRESET|57P01/i.test(
          `${error} ${JSON.stringify(error)}`,
        )
      )
        throw error
      counts.failed++
    }
  }
}

/** Kills a random session of the application until the signal; returns how many. */
async function killSessions(signal: AbortSignal, killed = { count: 0 }): Promise<number> {
  const client = new Client({ connectionString: superuserUrlOf() })
  await client.connect()
  while (!signal.aborted) {
    const { rowCount } = await client.query(
      `SELECT pg_terminate_backend(pid) FROM (
         SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'troco'
           AND state <> 'idle' ORDER BY random() LIMIT 1) p`,
    )
    killed.count += rowCount ?? 0
    await sleep(KILL_EVERY_MS)
  }
  await client.end()
  return killed.count
}

/** Returns the feeds whose numbers are not those from 1 to the last one. */
function readGaps(): Promise<unknown[]> {
  return db().$queryRaw`
    SELECT s.account_id FROM event_sequences s LEFT JOIN events e USING (account_id, mode)
    GROUP BY s.account_id, s.mode, s.last
    HAVING count(e.id) <> s.last OR count(DISTINCT e.sequence) <> s.last OR max(e.sequence) <> s.last`
}
