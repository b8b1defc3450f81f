import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ALL_DONE, hasCode, readOwn, stateOf, TrialStage } from '#e2e/banks/trial-stage.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
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
  ['has made the code', { method: 'PUT', path: '/v2/cob/', hasActed: true }],
  ['was asked about the payment', { method: 'GET', path: '/v2/cob/' }],
  ['was asked for a list', { method: 'GET', path: '/v2/pix' }],
] as const

test.each(KILLS.slice(0, pickSize(1, KILLS.length)))(
  'a worker that is killed when the bank %s moves each cent once',
  async (_, fault) => {
    await stage.connect()
    const own = await readOwn()
    const key = newId()
    await stage.bank.run('addFault', { kind: 'hang', ...fault })
    await stage.begin({ pixKey: key })
    await startWorker()
    let e2eid = ''
    const goOn = async () => {
      const found = await stage.read()
      if (hasCode(found) && e2eid === '') e2eid = await stage.pay(found)
      if (found.status === 'paid') await stage.announce(e2eid)
      await stage.bank.run('settle')
      return found
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
    await expect.poll(async () => (await goOn()).ended_at, LONG).not.toBeNull()
    await worker?.kill()
    expect(stateOf(await stage.read())).toEqual(ALL_DONE)
    expect(await stage.refundsOf(e2eid)).toHaveLength(1)
    expect(await stage.payoutsTo(key)).toHaveLength(1)
    expect((await readOwn()) - own).toBe(-1)
    await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  },
  90_000,
)
