import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ALL_DONE, readRest, stateOf, TrialStage } from '#e2e/banks/trial-stage.ts'
import { newId, TRIAL_ACCOUNT_ID } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { endSlots } from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase } from '#lib/testing/fixtures.ts'
import { pickSize } from '#lib/testing/size.ts'
import { startWorkerProcess, type WorkerProcess } from '#lib/testing/worker-process.ts'

inOwnDatabase()

let stage: TrialStage
let worker: WorkerProcess | undefined
beforeAll(async () => {
  stage = await TrialStage.open()
})
afterEach(() => worker?.kill())
afterAll(() => stage.account.close())

async function startWorker(): Promise<void> {
  const { TROCO_SECRET = '' } = env()
  worker = await startWorkerProcess({ TROCO_SECRET })
}

const LONG = { timeout: 60_000 }

/** `npm test` runs only the first, `npm run torture` all. */
const KILLS = [
  ['has taken the payout', { method: 'PUT', path: '/v3/gn/pix/', hasActed: true }],
  ['has taken the refund', { method: 'PUT', path: '/v2/pix/', hasActed: true }],
  ['was asked about the payment', { method: 'GET', path: '/v2/cob/' }],
] as const

test.each(KILLS.slice(0, pickSize(1, KILLS.length)))(
  'a worker that is killed when the bank %s moves each cent once',
  async (_, fault) => {
    await stage.connect()
    const key = newId()
    await stage.bank.run('addFault', { kind: 'hang', ...fault })
    const e2eid = await stage.pay(await stage.begin({ pixKey: key }))
    await startWorker()
    const goOn = async () => {
      await stage.announce(e2eid)
      await stage.bank.run('settle')
      return stage.read()
    }
    await expect
      .poll(async () => {
        await goOn()
        return stage.bank.run('countFaults')
      }, LONG)
      .toBe(0)
    // The bank acts before it hangs.
    if ('hasActed' in fault) await expect.poll(() => stage.bank.run('countOpen')).toBe(0)
    await worker?.kill()
    // As if the slots at the bank, which last 30 s, had ended.
    await endSlots(stage.connectionId)
    await startWorker()
    await expect.poll(async () => (await goOn()).status, LONG).not.toBe('running')
    await worker?.kill()
    expect(stateOf(await stage.read())).toEqual(ALL_DONE)
    expect(await stage.refundsOf(e2eid)).toHaveLength(1)
    expect(await stage.payoutsTo(key)).toHaveLength(1)
    expect(await readRest()).toBe(0)
    await expectBalancedLedger(TRIAL_ACCOUNT_ID)
  },
  90_000,
)
