import { setTimeout as sleep } from 'node:timers/promises'
import { Merchants } from '#e2e/day/merchants.ts'
import type { Hour, Plan, Process } from '#e2e/day/plan.ts'
import type { Stage } from '#e2e/day/stage.ts'
import { hasStopped, type Time, waitFor } from '#e2e/day/time.ts'
import { CALM } from '#e2e/day/weather.ts'
import type { SettingsChange } from '#e2e/psp/settings.ts'
import { db } from '#lib/db/client.ts'
import { askAboutEnded } from '#lib/orders/send.ts'
import { readReturns } from '#lib/testing/bank-lists.ts'
import { ORDER_RULES } from '#lib/worker/worker.ts'

/** Merchants' programs that send requests at the same time. */
const CLIENTS = 16
/** With each tick, so much time passes for the database. Requests that a bank delays stay younger than 10 min. */
const TICK_MS = 500
const TICK_PASSES_MS = 10_000
/** A busy machine is slow: no charge expires for it that a later step needs. */
const TICKS_PASS_MAX_MS = 30 * 60_000

type Step = () => Promise<void>
type Restart = (name: Process) => Promise<void>

/** Runs the hours of a plan, one after the other. */
export class Driver {
  readonly merchants: Merchants
  kills = 0
  readonly #stage: Stage<unknown>
  readonly #time: Time
  readonly #restart: Restart | null
  #restarted: Promise<void> = Promise.resolve()
  #clockOffsetMs = 0
  /** True time from which lists have all that a bank whose clock was ahead has dated. */
  #listedFromMs = 0

  constructor(stage: Stage<unknown>, time: Time, restart: Restart | null) {
    this.merchants = new Merchants(stage)
    this.#stage = stage
    this.#time = time
    this.#restart = restart
  }

  /** Clients go on to the next hour while others still wait for responses of the one before. */
  async run({ hours, habits }: Plan): Promise<void> {
    await this.#stage.bank.run('change', { habits })
    const stopTime = this.#letTimePass()
    const left = [...hours]
    let steps: Step[] = []
    let turn: Promise<unknown> = Promise.resolve()
    const take = async () => {
      for (let hour = left[0]; steps.length === 0 && hour; hour = left[0]) {
        left.shift()
        await this.#begin(hour)
        steps = this.#listSteps(hour)
      }
      return steps.shift()
    }
    const takeInTurn = () => {
      const step = turn.then(take)
      turn = step
      return step
    }
    const work = async () => {
      for (let step = await takeInTurn(); step; step = await takeInTurn()) await step()
    }
    try {
      await Promise.all(Array.from({ length: CLIENTS }, work))
    } finally {
      await stopTime()
      await this.#restarted
    }
  }

  /** From now on the bank does nothing wrong, and time passes until nothing is left to do. */
  async waitUntilQuiet(): Promise<void> {
    const { bank, connectionId } = this.#stage
    await bank.run('clearFaults')
    await this.#change(CALM)
    await bank.run('flushNotices')
    await waitFor('the bank to end all requests', async () => (await bank.run('countOpen')) === 0)
    await sleep(Math.max(0, this.#listedFromMs - Date.now()))
    const began = Date.now()
    const isQuiet = async () => Object.keys(await this.#time.listOpen()).length === 0
    const isRead = async () => {
      const readings = await db().paymentReading.findMany({ where: { connectionId } })
      // A bank that writes local times as UTC lists a payment three hours before it was made: the daily reading finds it.
      const paces = readings.filter(({ readUntil }) => readUntil.getTime() > began)
      return ['late', 'daily', 'returned_all'].every(pace =>
        paces.some(reading => reading.pace === pace),
      )
    }
    while (!((await isQuiet()) && (await isRead())) && !hasStopped()) {
      await this.#time.passToNext()
      await this.#time.waitForWork()
    }
    // Workers ask about what came back each minute of the true time, and list it every ten.
    while ((await askAboutEnded(ORDER_RULES)) > 0);
    await readReturns()
  }

  async #begin({ settings, faults, revokesTokens }: Hour): Promise<void> {
    const { bank } = this.#stage
    await bank.run('flushNotices')
    await this.#change(settings)
    for (const fault of faults) await bank.run('addFault', fault)
    if (revokesTokens) await bank.run('revokeTokens')
  }

  async #change(settings: SettingsChange): Promise<void> {
    this.#listedFromMs = Math.max(this.#listedFromMs, Date.now() + this.#clockOffsetMs)
    this.#clockOffsetMs = settings.clockOffsetMs ?? 0
    await this.#stage.bank.run('change', settings)
  }

  #listSteps({ charges, payouts, refunds, killed }: Hour): Step[] {
    const steps = mix([
      charges.map(step => () => this.merchants.charge(step)),
      payouts.map(step => () => this.merchants.payOut(step)),
      refunds.map(step => () => this.merchants.refund(step)),
    ])
    const isKilling = killed !== null && this.#restart !== null
    return isKilling ? steps.toSpliced(steps.length / 3, 0, async () => this.#kill(killed)) : steps
  }

  /** Other steps go on meanwhile. */
  #kill(name: Process): void {
    this.kills += 1
    this.#restarted = this.#restarted.then(() => this.#restart?.(name))
  }

  #letTimePass(): () => Promise<void> {
    let isOver = false
    const passing = (async () => {
      while (!isOver) {
        await sleep(TICK_MS)
        if (this.#time.passedMs < TICKS_PASS_MAX_MS) await this.#time.pass(TICK_PASSES_MS)
      }
    })()
    return async () => {
      isOver = true
      await passing
    }
  }
}

/** Merges lists, so that the steps of each are spread evenly. */
function mix<T>(lists: T[][]): T[] {
  return lists
    .flatMap(list => list.map((step, index) => ({ step, place: (index + 1) / (list.length + 1) })))
    .sort((one, other) => one.place - other.place)
    .map(({ step }) => step)
}
