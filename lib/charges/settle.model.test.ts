import { expect, test } from 'vitest'
import { decideCharge } from '#lib/banks/simulator.ts'
import { closeCharge } from '#lib/charges/close.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { REFUSAL } from '#lib/testing/bank.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { expireDueCharges } from '#lib/testing/orders.ts'
import { makePayment } from '#lib/testing/payments.ts'
import fc from '#lib/testing/property.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 15)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 30)
const CONCURRENCY_MAX = 3
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const

type Outcome = 'paid' | 'failed' | 'expired'
type Step =
  | { resource: 'charge'; do: 'bank told' | 'time up' }
  | { resource: 'charge'; do: 'bank decides' | 'payer'; outcome: Outcome }
  | { resource: 'charge'; do: 'close'; outcome: 'failed' | 'expired' }
  | { resource: 'withdrawal'; do: 'approve' | 'reject' }

// A database of its own: workers of other tests would claim the due charges.
inOwnDatabase()

const outcome = fc.constantFrom<Outcome>('paid', 'failed', 'expired')
const steps: fc.Arbitrary<Step>[] = [
  fc.record({ resource: fc.constant('charge'), do: fc.constantFrom('bank told', 'time up') }),
  fc.record({
    resource: fc.constant('charge'),
    do: fc.constantFrom('bank decides', 'payer'),
    outcome,
  }),
  fc.record({
    resource: fc.constant('charge'),
    do: fc.constant('close'),
    outcome: fc.constantFrom('failed', 'expired'),
  }),
  fc.record({ resource: fc.constant('withdrawal'), do: fc.constantFrom('approve', 'reject') }),
]
/** Steps of a group run concurrently, groups one after another. */
const groups = fc.array(
  fc.array(fc.oneof(...steps), { minLength: 1, maxLength: CONCURRENCY_MAX }),
  {
    minLength: 1,
    maxLength: Math.ceil((COMMAND_COUNT * 2) / (1 + CONCURRENCY_MAX)),
    size: 'max',
  },
)

const CHARGE_MOVES = [
  'pending>paid',
  'pending>failed',
  'pending>expired',
  'failed>paid',
  'expired>paid',
]
const WITHDRAWAL_MOVES = ['pending>approved', 'pending>rejected']

test('any sequence of notices makes only allowed state changes, with one event for each', async () => {
  const merchant = await makeMerchant()
  const accountId = merchant.id
  await fundMerchant(merchant, 1_000 * RUN_COUNT * 20)
  let balance = (await readBalances(accountId, 'test')).available
  const seenMoves = new Set<string>()

  async function applyStep(step: Step, chargeId: string, withdrawalId: string): Promise<unknown> {
    const settlement = { accountId, withdrawalId }
    switch (step.do) {
      case 'bank told': {
        return receivePayments([{ accountId, chargeId, payments: [makePayment(1_000)] }])
      }
      case 'bank decides':
        return decideCharge(chargeId.replaceAll('-', ''), 1_000, step.outcome)
      case 'payer':
        return simulateCharge(accountId, chargeId, step.outcome).catch(error =>
          expect(error).toMatchObject({ code: 'already_final' }),
        )
      case 'close':
        return closeCharge(accountId, chargeId, step.outcome)
      case 'time up':
        await db().$executeRaw`
          UPDATE charges SET due_at = now() - interval '1 second',
            expires_at = now() - interval '1 second' WHERE id = ${chargeId}::uuid
            AND account_id = ${accountId}::uuid AND status = 'pending'`
        return expireDueCharges()
      case 'approve':
        return approveWithdrawal({ ...settlement, endToEndId: `E${newId()}` })
      case 'reject':
        return rejectWithdrawal({ ...settlement, reason: REFUSAL })
    }
  }

  async function expectEvents(subjectId: string, status: string, moves: string[]): Promise<void> {
    const events = await db().event.findMany({
      where: { accountId, subjectId },
      orderBy: { sequence: 'asc' },
    })
    const states = events.map(event => event.type.split('.')[1] ?? '')
    expect(states.at(-1) ?? 'pending').toBe(status)
    for (const [index, state] of states.entries()) {
      const move = `${states[index - 1] ?? 'pending'}>${state}`
      expect(moves).toContain(move)
      seenMoves.add(move)
      expect(events[index]?.resource).toMatchObject({ id: subjectId, status: state })
    }
  }

  async function checkHistory(history: Step[][]): Promise<void> {
    const { id: chargeId } = await openCharge(merchant, 1_000)
    const order = { amount: 1_000, ...KEY }
    const { id: withdrawalId } = await createWithdrawal(accountId, 'test', order)
    for (const group of history) {
      await Promise.all(group.map(step => applyStep(step, chargeId, withdrawalId)))
    }
    const where = { accountId, id: { in: [chargeId, withdrawalId] } }
    const charge = await db().charge.findFirstOrThrow({ where })
    const withdrawal = await db().withdrawal.findFirstOrThrow({ where })
    await expectEvents(chargeId, charge.status, CHARGE_MOVES)
    await expectEvents(withdrawalId, withdrawal.status, WITHDRAWAL_MOVES)
    balance += charge.status === 'paid' ? 1_000 : 0
    balance -= withdrawal.status === 'rejected' ? 0 : 1_000
    expect((await readBalances(accountId, 'test')).available).toBe(balance)
  }
  await fc.assert(fc.asyncProperty(groups, checkHistory), {
    numRuns: RUN_COUNT,
    endOnFailure: true,
  })

  expect(seenMoves).toEqual(new Set([...CHARGE_MOVES, ...WITHDRAWAL_MOVES]))
  const sequences = await db().event.findMany({
    where: { accountId },
    orderBy: { sequence: 'asc' },
    select: { sequence: true },
  })
  expect(sequences.map(event => Number(event.sequence))).toEqual(
    sequences.map((_, index) => index + 1),
  )
  await expectBalancedLedger(accountId)
}, 120_000)
