import { expect, test } from 'vitest'
import { claim } from '#lib/base/db/claim.ts'
import { db, Prisma } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { activateAccount, suspendAccount } from '#lib/rooms/accounts/activate.ts'
import type { Account } from '#lib/rooms/accounts/schema.ts'
import { chargeColumns } from '#lib/rooms/charges/queries.ts'
import { createRefund } from '#lib/rooms/charges/refunds/create.ts'
import { sendDueRefunds } from '#lib/rooms/charges/refunds/send.ts'
import { simulateCharge } from '#lib/rooms/charges/simulate.ts'
import { createWithdrawal } from '#lib/rooms/withdrawals/create.ts'
import { sendDueWithdrawals } from '#lib/rooms/withdrawals/send.ts'
import { type OrderScript, QUERY_BEHAVIORS, SEND_BEHAVIORS, StubBank } from '#lib/testing/bank.ts'
import {
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 40)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 30)
const ACTOR = { type: 'system' } as const
const KEY = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
const AMOUNT = 1_000

inOwnDatabase()

interface ModelState {
  merchant: Account
  chargeId: string
  bank: StubBank
  ids: string[]
}

const ROOMS = {
  withdrawals: {
    sentStatus: 'approved',
    create: ({ merchant }: ModelState) =>
      createWithdrawal(merchant.id, 'test', { amount: AMOUNT, ...KEY }),
    run: ({ bank }: ModelState) => sendDueWithdrawals(() => bank),
    eventFilter: (id: string) => ({ type: { startsWith: 'withdrawal.' }, subjectId: id }),
  },
  refunds: {
    sentStatus: 'completed',
    create: ({ merchant, chargeId }: ModelState) =>
      createRefund(merchant.id, 'test', chargeId, { amount: AMOUNT }),
    run: ({ bank }: ModelState) => sendDueRefunds(chargeColumns, () => bank),
    eventFilter: (id: string) => ({
      type: { startsWith: 'transaction.refund' },
      resource: { path: ['refund', 'id'], equals: id },
    }),
  },
}

type Command =
  | { do: 'create'; script: OrderScript }
  | { do: 'run' | 'time passes' | 'lease lapses' | 'worker dies' | 'bank settles' }
  | { do: 'suspend' | 'activate' }
  | { do: 'notice'; which: number; times: number }
  | { do: 'stall'; when: 'before' | 'after'; lies: boolean }

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
        ...(['run', 'time passes', 'time passes', 'lease lapses'] as const),
        ...(['worker dies', 'bank settles', 'suspend', 'activate', 'activate'] as const),
      ),
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
    const room = ROOMS[table]
    const seenStatuses = new Set<string>()
    const openCondition = Prisma.sql`status = 'pending'`
    const makeUnclaimedDue = () => db().$executeRaw`
      UPDATE ${rows} SET due_at = now() - interval '1 second' WHERE ${openCondition} AND lease IS NULL`
    const makeAllDue = () => db().$executeRaw`
      UPDATE ${rows} SET due_at = now() - interval '1 second' WHERE ${openCondition}`
    const statusOf = async (id: string) => {
      const [row] = await db().$queryRaw<{ status: string }[]>`
        SELECT status FROM ${rows} WHERE id = ${id}::uuid`
      return row?.status
    }

    async function applyCommand(step: Command, state: ModelState): Promise<unknown> {
      const { merchant, bank, ids } = state
      switch (step.do) {
        case 'create': {
          const { id } = await room.create(state)
          bank.setScript(removeHyphens(id), step.script)
          return ids.push(id)
        }
        case 'run':
          return room.run(state)
        case 'time passes':
          await makeUnclaimedDue()
          return room.run(state)
        case 'lease lapses':
          return makeAllDue()
        case 'worker dies':
          return claim(table, 10)
        case 'bank settles':
          return bank.settle()
        case 'suspend':
          return suspendAccount(merchant.id, 'test', ACTOR)
        case 'activate':
          return activateAccount(merchant.id, 'test', ACTOR)
        case 'notice': {
          const id = ids[step.which % Math.max(1, ids.length)]
          if (!id) return
          await db().$executeRaw`
            UPDATE ${rows} SET due_at = now() WHERE id = ${id}::uuid AND ${openCondition}`
          return Promise.all(Array.from({ length: step.times }, () => room.run(state)))
        }
        case 'stall':
          // Another worker takes over and finishes before the bank responds to the stalled worker.
          return bank.stall(step.when, async () => {
            await makeAllDue()
            await room.run(state)
            bank.settle()
            await makeAllDue()
            await room.run(state)
            const statuses = await Promise.all(ids.map(statusOf))
            const isOver = statuses.every(status => status !== 'pending')
            return step.lies && isOver ? { outcome: 'rejected', reason: 'No' } : undefined
          })
      }
    }

    async function checkCommands(commands: Command[]): Promise<void> {
      const merchant = await makeMerchant()
      const { id: chargeId } = await openCharge(merchant, AMOUNT * (COMMAND_COUNT + 1))
      await simulateCharge(merchant.id, chargeId, 'paid')
      const state = { merchant, chargeId, bank: new StubBank(), ids: [] as string[] }
      for (const step of commands) await applyCommand(step, state)

      state.bank.heal()
      await activateAccount(merchant.id, 'test', ACTOR)
      for (let round = 0; round < 4; round++) {
        await makeAllDue()
        await room.run(state)
        state.bank.settle()
      }
      for (const id of state.ids) {
        const status = (await statusOf(id)) ?? ''
        seenStatuses.add(status)
        expect([room.sentStatus, 'rejected']).toContain(status)
        expect(state.bank.countDebits(removeHyphens(id))).toBe(status === room.sentStatus ? 1 : 0)
        expect(await db().event.count({ where: room.eventFilter(id) })).toBe(1)
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
    if (RUN_COUNT >= 20) expect(seenStatuses).toEqual(new Set([room.sentStatus, 'rejected']))
  },
  RUN_COUNT * COMMAND_COUNT * 100 + 60_000,
)
