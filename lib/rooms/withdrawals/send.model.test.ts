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
  expectBalancedBooks,
  inOwnDatabase,
  makeMerchant,
  openCharge,
} from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

const RUNS = Number(process.env.MODEL_RUNS || 40)
const COMMANDS = Number(process.env.MODEL_COMMANDS || 30)
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
    sent: 'approved',
    create: ({ merchant }: ModelState) =>
      createWithdrawal(merchant.id, 'test', { amount: AMOUNT, ...KEY }),
    run: ({ bank }: ModelState) => sendDueWithdrawals(() => bank),
    told: (id: string) => ({ type: { startsWith: 'withdrawal.' }, subjectId: id }),
  },
  refunds: {
    sent: 'completed',
    create: ({ merchant, chargeId }: ModelState) =>
      createRefund(merchant.id, 'test', chargeId, { amount: AMOUNT }),
    run: ({ bank }: ModelState) => sendDueRefunds(chargeColumns, () => bank),
    told: (id: string) => ({
      type: { startsWith: 'transaction.refund' },
      resource: { path: ['refund', 'id'], equals: id },
    }),
  },
}

type Command =
  | { do: 'create'; fate: OrderScript }
  | { do: 'run' | 'time passes' | 'lease lapses' | 'worker dies' | 'bank settles' }
  | { do: 'suspend' | 'activate' }
  | { do: 'notice'; which: number; times: number }
  | { do: 'stall'; when: 'before' | 'after'; lies: boolean }

const fate: fc.Arbitrary<OrderScript> = fc.record({
  sends: fc.array(fc.constantFrom(...SEND_BEHAVIORS), { maxLength: 4 }),
  asks: fc.array(fc.constantFrom(...QUERY_BEHAVIORS), { maxLength: 4 }),
  end: fc.constantFrom('done', 'done', 'refused'),
})
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), fate }) },
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
    const seen = new Set<string>()
    const ofOpen = Prisma.sql`status = 'pending'`
    const waits = () => db().$executeRaw`
      UPDATE ${rows} SET due_at = now() - interval '1 second' WHERE ${ofOpen} AND lease IS NULL`
    const lapses = () => db().$executeRaw`
      UPDATE ${rows} SET due_at = now() - interval '1 second' WHERE ${ofOpen}`
    const statusOf = async (id: string) => {
      const [row] = await db().$queryRaw<{ status: string }[]>`
        SELECT status FROM ${rows} WHERE id = ${id}::uuid`
      return row?.status
    }

    async function take(step: Command, state: ModelState): Promise<unknown> {
      const { merchant, bank, ids } = state
      switch (step.do) {
        case 'create': {
          const { id } = await room.create(state)
          bank.setScript(removeHyphens(id), step.fate)
          return ids.push(id)
        }
        case 'run':
          return room.run(state)
        case 'time passes':
          await waits()
          return room.run(state)
        case 'lease lapses':
          return lapses()
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
            UPDATE ${rows} SET due_at = now() WHERE id = ${id}::uuid AND ${ofOpen}`
          return Promise.all(Array.from({ length: step.times }, () => room.run(state)))
        }
        case 'stall':
          // Another worker takes over and finishes before the bank responds to the stalled worker.
          return bank.stall(step.when, async () => {
            await lapses()
            await room.run(state)
            bank.settle()
            await lapses()
            await room.run(state)
            const sent = await Promise.all(ids.map(statusOf))
            const isOver = sent.every(status => status !== 'pending')
            return step.lies && isOver ? { outcome: 'rejected', reason: 'No' } : undefined
          })
      }
    }

    async function holds(commands: Command[]): Promise<void> {
      const merchant = await makeMerchant()
      const { id: chargeId } = await openCharge(merchant, AMOUNT * (COMMANDS + 1))
      await simulateCharge(merchant.id, chargeId, 'paid')
      const world = { merchant, chargeId, bank: new StubBank(), ids: [] as string[] }
      for (const step of commands) await take(step, world)

      world.bank.heal()
      await activateAccount(merchant.id, 'test', ACTOR)
      for (let turn = 0; turn < 4; turn++) {
        await lapses()
        await room.run(world)
        world.bank.settle()
      }
      for (const id of world.ids) {
        const status = (await statusOf(id)) ?? ''
        seen.add(status)
        expect([room.sent, 'rejected']).toContain(status)
        expect(world.bank.countDebits(removeHyphens(id))).toBe(status === room.sent ? 1 : 0)
        expect(await db().event.count({ where: room.told(id) })).toBe(1)
      }
      const known = new Set(world.ids.map(removeHyphens))
      for (const { id, amount } of world.bank.sent) {
        expect(known).toContain(id)
        expect(amount).toBe(AMOUNT)
      }
      await expectBalancedBooks(merchant.id)
    }
    const commands = fc.array(command, { minLength: 1, maxLength: COMMANDS, size: 'max' })
    await fc.assert(fc.asyncProperty(commands, holds), { numRuns: RUNS, endOnFailure: true })
    if (RUNS >= 20) expect(seen).toEqual(new Set([room.sent, 'rejected']))
  },
  RUNS * COMMANDS * 100 + 60_000,
)
