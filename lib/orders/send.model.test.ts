import { beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { activateAccount, suspendAccount } from '#lib/accounts/settings.ts'
import { listServed, type ServedConnection } from '#lib/banks/served.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { claimSlots, newQueue } from '#lib/orders/order.ts'
import {
  type OrderScript,
  QUERY_BEHAVIORS,
  REFUSAL,
  SEND_BEHAVIORS,
  StubBank,
} from '#lib/testing/bank.ts'
import {
  addConnection,
  assignConnection,
  endPause,
  endRest,
  endSlots,
  fundLive,
  readRestsAlways,
  replaceBank,
} from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { claimOrders, sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import fc from '#lib/testing/property.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import {
  approveRequest,
  declineRequest,
  expireWaitingWithdrawals,
} from '#lib/withdrawals/approval.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 3)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 30)
const ACTOR = { type: 'system' } as const
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const AMOUNT = 1_000

inOwnDatabase()

/** Fewer than orders, and than a run sends: slots and the rest of the connection take part. */
const IN_FLIGHT_MAX = 2
const FAILURES_MAX = 3

let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
  readRestsAlways()
})

/** What the bank asked to wait for, and what its payouts in flight keep others from, is over. */
async function passTime(): Promise<void> {
  await endRest(connectionId)
  await endPause(connectionId)
  await endSlots(connectionId)
}

async function expectPlacesKept(): Promise<void> {
  const live = {
    connectionId,
    operation: 'payout',
    state: 'placed',
    slotUntil: { gt: new Date() },
  }
  expect(await db().bankOrder.count({ where: live })).toBeLessThanOrEqual(IN_FLIGHT_MAX)
}

interface ModelState {
  merchant: Account
  chargeId: string
  bank: StubBank
  ids: string[]
  /** Member who may approve; withdrawals only. */
  approver: string
}

const FEATURES = {
  withdrawals: {
    sentStatus: 'approved',
    create: ({ merchant }: ModelState) =>
      createWithdrawal(merchant.id, 'live', { amount: AMOUNT, ...KEY, connectionId }),
    /** Each of these changes nothing unless the withdrawal waits for approval. */
    decide: decideWaiting,
    run: sendDueWithdrawals,
    eventFilter: (id: string) => ({ type: { startsWith: 'withdrawal.' }, subjectId: id }),
  },
  refunds: {
    sentStatus: 'completed',
    create: ({ merchant, chargeId }: ModelState) =>
      createRefund(merchant.id, 'live', chargeId, { amount: AMOUNT }),
    decide: async () => {},
    run: sendDueRefunds,
    eventFilter: (id: string) => ({
      type: { startsWith: 'transaction.refund' },
      resource: { path: ['refund', 'id'], equals: id },
    }),
  },
}

const APPROVAL_DECISIONS = ['approve', 'decline', 'expire'] as const
type ApprovalDecision = (typeof APPROVAL_DECISIONS)[number]

/** Runs the decisions at the same moment; those that come too late are refused. */
async function decideWaiting(
  { merchant, approver }: ModelState,
  id: string,
  decisions: ApprovalDecision[],
): Promise<void> {
  const decision = { accountId: merchant.id, mode: 'live', id, by: approver } as const
  if (decisions.includes('expire')) {
    await db().$executeRaw`
      UPDATE withdrawals SET approval_due_at = clock_timestamp() + interval '2 milliseconds'
      WHERE id = ${id}::uuid AND approval_due_at IS NOT NULL`
  }
  await Promise.allSettled(
    decisions.map(name => {
      if (name === 'expire') return expireWaitingWithdrawals()
      return name === 'approve' ? approveRequest(decision) : declineRequest(decision)
    }),
  )
}

async function findServed(): Promise<ServedConnection> {
  const served = (await listServed()).find(({ id }) => id === connectionId)
  return served ?? expect.unreachable()
}

type Command =
  | { do: 'create'; script: OrderScript }
  | { do: 'run' | 'time passes' | 'lease lapses' | 'worker dies' | 'bank settles' }
  | { do: 'suspend' | 'activate' }
  | { do: 'rule'; isOn: boolean }
  | { do: 'decide'; which: number; decisions: ApprovalDecision[] }
  | { do: 'notice'; which: number; times: number }
  | { do: 'stall'; when: 'before' | 'after'; lies: boolean }

async function addApprover({ id: accountId }: Account): Promise<string> {
  const id = newId()
  const email = `${id}@troco.example`
  await db().user.create({ data: { id, email, name: email, ...VERIFIED } })
  await db().membership.create({ data: { accountId, userId: id, role: 'finance' } })
  await db().account.update({ where: { id: accountId }, data: { approvalNewKeys: false } })
  return id
}

const setThreshold = ({ id }: Account, approvalAbove: number | null) =>
  db().account.update({ where: { id }, data: { approvalAbove } })

async function expectNoneSentUnapproved({ merchant, bank }: ModelState): Promise<void> {
  const rows = await db().$queryRaw<{ id: string }[]>`
    SELECT id FROM withdrawals WHERE account_id = ${merchant.id}::uuid
      AND approval_reason IS NOT NULL AND (approval_by IS NULL OR rejection_code = 'approval_declined')`
  const unapproved = new Set(rows.map(({ id }) => removeHyphens(id)))
  expect(bank.sentOrders.filter(({ id }) => unapproved.has(id))).toEqual([])
  await expectBalancedLedger(merchant.id)
}

const script: fc.Arbitrary<OrderScript> = fc.record({
  sends: fc.array(fc.constantFrom(...SEND_BEHAVIORS), { maxLength: 4 }),
  queries: fc.array(fc.constantFrom(...QUERY_BEHAVIORS), { maxLength: 4 }),
  end: fc.constantFrom('done', 'done', 'refused'),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), script }) },
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'run',
        'time passes',
        'time passes',
        'lease lapses',
        'worker dies',
        'bank settles',
        'suspend',
        'activate',
        'activate',
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('rule' as const), isOn: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('decide' as const),
      which: fc.nat(9),
      decisions: fc.array(fc.constantFrom(...APPROVAL_DECISIONS), { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('notice' as const),
      which: fc.nat(9),
      times: fc.integer({ min: 1, max: 4 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('stall' as const),
      when: fc.constantFrom('before', 'after'),
      lies: fc.boolean(),
    }),
  },
)

test.each(['withdrawals', 'refunds'] as const)(
  '%s are sent at most once, with exactly one event, whatever the bank and the network do',
  async table => {
    const rows = Prisma.raw(table)
    const feature = FEATURES[table]
    const seenStatuses = new Set<string>()
    const kind = table === 'withdrawals' ? 'withdrawal' : 'refund'
    const makeUnclaimedDue = () => db().$executeRaw`
      UPDATE bank_orders SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL AND lease IS NULL`
    const makeAllDue = () => db().$executeRaw`
      UPDATE bank_orders SET due_at = now() - interval '1 second' WHERE due_at IS NOT NULL`
    const statusOf = async (id: string) => {
      const [row] = await db().$queryRaw<{ status: string }[]>`
        SELECT status FROM ${rows} WHERE id = ${id}::uuid`
      return row?.status
    }

    async function applyCommand(step: Command, state: ModelState): Promise<unknown> {
      const { merchant, bank, ids } = state
      switch (step.do) {
        case 'create': {
          const { id } = await feature.create(state)
          bank.setScript(removeHyphens(id), step.script)
          return ids.push(id)
        }
        case 'run':
          return feature.run()
        case 'time passes':
          await passTime()
          await makeUnclaimedDue()
          return feature.run()
        case 'lease lapses':
          return makeAllDue()
        case 'worker dies':
          if (kind === 'withdrawal')
            await claimSlots(newQueue(connectionId, 'payout', [kind]), await findServed(), 10)
          else await claimOrders('waiting', 10, connectionId, kind)
          return claimOrders('placed', 10, connectionId, kind)
        case 'bank settles':
          return bank.settle()
        case 'suspend':
          return suspendAccount(merchant.id, 'test', ACTOR)
        case 'activate':
          return activateAccount(merchant.id, 'test', ACTOR)
        case 'rule':
          return setThreshold(merchant, step.isOn ? AMOUNT - 1 : null)
        case 'decide': {
          const id = ids[step.which % Math.max(1, ids.length)]
          return id && feature.decide(state, id, step.decisions)
        }
        case 'notice': {
          const id = ids[step.which % Math.max(1, ids.length)]
          if (!id) return
          await db().$executeRaw`
            UPDATE bank_orders SET due_at = now() WHERE id = ${id}::uuid AND due_at IS NOT NULL`
          return Promise.all(Array.from({ length: step.times }, () => feature.run()))
        }
        case 'stall':
          // Another worker takes over and finishes before the bank responds to the stalled worker.
          return bank.stall(step.when, async () => {
            await makeAllDue()
            await feature.run()
            bank.settle()
            await makeAllDue()
            await feature.run()
            const statuses = await Promise.all(ids.map(statusOf))
            const isOver = statuses.every(status => status !== 'pending')
            return step.lies && isOver ? { outcome: 'rejected', ...REFUSAL } : undefined
          })
      }
    }

    async function checkCommands(commands: Command[]): Promise<void> {
      const merchant = await makeMerchant()
      const approver = await addApprover(merchant)
      const limits = { payoutsInFlight: IN_FLIGHT_MAX, failuresMax: FAILURES_MAX }
      const bank = Object.assign(new StubBank(), limits)
      replaceBank(connectionId, bank)
      await assignConnection(connectionId, merchant)
      const chargeId = await fundLive(merchant, AMOUNT * (COMMAND_COUNT + 1))
      const state = { merchant, chargeId, bank, ids: [] as string[], approver }
      for (const step of commands) {
        await applyCommand(step, state)
        await expectPlacesKept()
        if (table === 'withdrawals') await expectNoneSentUnapproved(state)
      }

      for (const id of state.ids) await feature.decide(state, id, ['approve'])
      await expireWaitingWithdrawals()
      state.bank.heal()
      await activateAccount(merchant.id, 'test', ACTOR)
      // Each round sends as many as there are slots, and some are sent only after others.
      const isOver = async () => !(await Promise.all(state.ids.map(statusOf))).includes('pending')
      for (let round = 0; round < 4 + state.ids.length && !(await isOver()); round++) {
        await passTime()
        await makeAllDue()
        while ((await feature.run()) > 0);
        state.bank.settle()
        // A rejection counts once no earlier call can still arrive.
        await db().$executeRaw`
          UPDATE gateway_calls SET created_at = created_at - interval '10 minutes'
          WHERE account_id = ${merchant.id}::uuid`
      }
      for (const id of state.ids) {
        const status = (await statusOf(id)) ?? ''
        seenStatuses.add(status)
        expect([feature.sentStatus, 'rejected']).toContain(status)
        expect(state.bank.countDebits(removeHyphens(id))).toBe(
          status === feature.sentStatus ? 1 : 0,
        )
        expect(await db().event.count({ where: feature.eventFilter(id) })).toBe(1)
      }
      const orderIds = new Set(state.ids.map(removeHyphens))
      for (const { id, amount } of state.bank.sentOrders) {
        expect(orderIds).toContain(id)
        expect(amount).toBe(AMOUNT)
      }
      await expectBalancedLedger(merchant.id)
    }
    const commands = fc.array(command, { minLength: 1, maxLength: COMMAND_COUNT, size: 'max' })
    await fc.assert(fc.asyncProperty(commands, checkCommands), {
      numRuns: RUN_COUNT,
      endOnFailure: true,
    })
    if (RUN_COUNT >= 20) expect(seenStatuses).toEqual(new Set([feature.sentStatus, 'rejected']))
  },
  RUN_COUNT * COMMAND_COUNT * 100 + 60_000,
)
