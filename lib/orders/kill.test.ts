import { fork } from 'node:child_process'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { env, inheritedEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, assignConnection, fundLive, replaceBank } from '#lib/testing/connection.ts'
import { keepStray } from '#lib/testing/differences.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import {
  dropOrders,
  makeOrdersDue,
  orderOf,
  sendDueRefunds,
  sendDueReturns,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { pickSize } from '#lib/testing/size.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

const AMOUNT = 1_000
/** `npm test` kills at every 24th step, from a different one in each run. */
const STRIDE = pickSize(24, 1)

let bank: StubBank
let merchant: Account
let connectionId: string
beforeAll(async () => {
  connectionId = await addConnection(new StubBank())
  merchant = await makeMerchant()
  await assignConnection(connectionId, merchant)
})
beforeEach(dropOrders)

const KINDS = {
  withdrawal: {
    async make() {
      await fundLive(merchant, AMOUNT)
      const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
      return createWithdrawal(merchant.id, 'live', { amount: AMOUNT, ...key, connectionId })
    },
    send: sendDueWithdrawals,
    movements: ['withdrawal_held', 'withdrawal_sent'],
  },
  refund: {
    make: async () =>
      createRefund(merchant.id, 'live', await fundLive(merchant, AMOUNT), { amount: AMOUNT }),
    send: sendDueRefunds,
    movements: ['refund_held', 'refund_sent'],
  },
  return: {
    async make() {
      const { itemId } = await keepStray(AMOUNT, { connectionId, mode: 'live' })
      return giveBack({ itemId, reason: 'Paid twice', actor: { type: 'command_line' } })
    },
    send: sendDueReturns,
    movements: [],
  },
}

/** Runs a worker that is killed before a step, or at its end. Returns all steps if it has come to its end. */
async function runAndKill(kind: string, stopAt = ''): Promise<string[]> {
  const child = fork('lib/testing/order-child.ts', [kind, stopAt], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { ...inheritedEnv(), DATABASE_URL: env().DATABASE_URL },
  })
  const exited = new Promise(resolve => child.once('exit', resolve))
  const steps = await new Promise<string[]>((resolve, reject) => {
    child.once('exit', code => reject(new Error(`The worker ended by itself: ${code}`)))
    child.on('message', async (message: Record<string, unknown>) => {
      if ('reached' in message) return resolve([])
      if ('steps' in message) return resolve(message.steps as string[])
      const method = message.method as 'sendPayout'
      const answer = await bank[method](message.order as Parameters<StubBank['sendPayout']>[0])
      child.connected && child.send({ call: message.call, answer })
    })
  })
  child.kill('SIGKILL')
  await exited
  return steps
}

test.each(pickInTurn(Object.keys(KINDS) as (keyof typeof KINDS)[]))(
  'a worker that is killed at any step of sending a %s moves its money once',
  async kind => {
    const { make, send, movements } = KINDS[kind]
    const sendOne = async (stopAt?: string) => {
      bank = Object.assign(new StubBank(), { isQuick: true })
      replaceBank(connectionId, bank)
      const { id } = await make()
      const steps = await runAndKill(kind, stopAt)
      for (let round = 0; round < 6 && (await orderOf(id)).dueAt !== null; round++) {
        await makeOrdersDue({ id, slots: true })
        await send()
      }
      const transfers = await db().ledgerTransfer.findMany({ where: { subjectId: id } })
      expect({
        ...{
          stopAt,
          state: (await orderOf(id)).state,
          debits: bank.countDebits(removeHyphens(id)),
        },
        movements: transfers.map(row => row.kind).sort(),
      }).toEqual({ stopAt, state: 'done', debits: 1, movements })
      return steps
    }
    const steps = await sendOne()
    expect(steps.filter(step => /^(before|after) /.test(step))).toHaveLength(4)
    const first = new Random(chooseSeed(), 1).between(0, STRIDE - 1)
    const killed = steps.filter((_, index) => index % STRIDE === first)
    for (const step of killed) await sendOne(step)
    process.stdout.write(`${kind}: killed at ${killed.length} of ${steps.length} steps\n`)
    await expectBalancedLedger(merchant.id)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  },
  pickSize(60_000, 300_000),
)
