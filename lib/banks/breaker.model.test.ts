import { expect, test } from 'vitest'
import { type Admission, Breaker } from '#lib/banks/breaker.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = Number(process.env.MODEL_RUNS || 20)
const COMMAND_COUNT = Number(process.env.MODEL_COMMANDS || 40)
const PROCESS_COUNT = 3
const FAILURES_MAX = 5

const RESULTS: Record<string, GatewayResult<unknown> | null> = {
  succeeds: { outcome: 'ok', value: null },
  'is lost': { outcome: 'unknown', reason: 'lost' },
  'is limited': { outcome: 'retryable', reason: '429', isRateLimit: true },
  'is blocked': { outcome: 'blocked', code: 'scope', reason: 'no scope' },
  'is not made': null,
}

type Command =
  | { do: 'calls begin'; processes: number[] }
  | { do: 'calls end'; which: number[]; how: string }
  | { do: 'process reads again' | 'process dies'; worker: number }
  | { do: 'rest ends' | 'probe is given up' }

/** A call that was admitted and has not ended. */
interface Call {
  worker: number
  probe: string | null
}

const worker = fc.nat(PROCESS_COUNT - 1)
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('calls begin' as const),
      processes: fc.array(worker, { minLength: 1, maxLength: 6 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('calls end' as const),
      which: fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
      how: fc.constantFrom('is lost', 'is lost', 'is lost', ...Object.keys(RESULTS)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constantFrom('process reads again' as const, 'process dies' as const),
      worker,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('rest ends' as const, 'rest ends' as const, 'probe is given up' as const),
    }),
  },
)

class Model {
  readonly connectionId = newId()
  readonly calls: Call[] = []
  private breakers = Array.from({ length: PROCESS_COUNT }, () => makeBreaker())

  breakerOf(index: number): Breaker {
    return this.breakers[index] as Breaker
  }

  restart(index: number): void {
    this.breakers[index] = makeBreaker()
  }

  /** Its calls never end. */
  kill(index: number): void {
    this.restart(index)
    const others = this.calls.filter(({ worker }) => worker !== index)
    this.calls.splice(0, this.calls.length, ...others)
  }

  async read() {
    const where = { connectionId: this.connectionId }
    return db().connectionState.findUnique({ where })
  }

  async begin(worker: number): Promise<Admission> {
    const admission = await this.breakerOf(worker).admit(this.connectionId)
    if (admission.isAdmitted) this.calls.push({ worker, probe: admission.probe })
    return admission
  }

  async end({ worker, probe }: Call, how: string): Promise<void> {
    const call = {
      connectionId: this.connectionId,
      operation: 'getPayout',
      probe,
      failuresMax: FAILURES_MAX,
    }
    await this.breakerOf(worker).record(call, RESULTS[how] ?? null)
  }

  take(which: number[]): Call[] {
    return which.flatMap(nth => this.calls.splice(nth % Math.max(1, this.calls.length), 1))
  }

  setPast(column: 'retryAt' | 'probeUntil') {
    const where = { connectionId: this.connectionId, [column]: { not: null } }
    return db().connectionState.updateMany({ where, data: { [column]: new Date(0) } })
  }
}

/** Reads once; a process that reads again is a new one. */
function makeBreaker(): Breaker {
  return new Breaker(Number.POSITIVE_INFINITY)
}

/** Checks what an admission may be, given the row before. Returns whether it was one. */
async function beginAll(model: Model, processes: number[]): Promise<void> {
  const before = await model.read()
  const probes = model.calls.filter(({ probe }) => probe !== null).length
  const admissions = await Promise.all(processes.map(index => model.begin(index)))
  const begun = admissions.filter(one => one.isAdmitted && one.probe !== null).length
  const isProbeFree = before?.probeUntil == null || before.probeUntil.getTime() === 0
  const mayProbe = before?.openedAt != null && before.retryAt?.getTime() === 0 && isProbeFree
  expect(begun).toBeLessThanOrEqual(mayProbe ? 1 : 0)
  if (probes > 0 && !isProbeFree) expect(begun).toBe(0)
}

test(
  'calls of several processes: none is made in a rest, one at a time probes, and a success ends it',
  async () => {
    const seen = new Set<string>()
    const check = async (commands: Command[]) => {
      const model = new Model()
      for (const step of commands) {
        if (step.do === 'calls begin') await beginAll(model, step.processes)
        else if (step.do === 'calls end')
          await Promise.all(model.take(step.which).map(call => model.end(call, step.how)))
        else if (step.do === 'rest ends') await model.setPast('retryAt')
        else if (step.do === 'probe is given up') await model.setPast('probeUntil')
        else if (step.do === 'process reads again') model.restart(step.worker)
        else if (step.do === 'process dies') model.kill(step.worker)
        await expectConsistent(model, seen)
      }
      await expectRecovery(model)
    }
    const commands = fc.array(command, { minLength: 1, maxLength: COMMAND_COUNT, size: 'max' })
    await fc.assert(fc.asyncProperty(commands, check), { numRuns: RUN_COUNT, endOnFailure: true })
    if (RUN_COUNT >= 20) expect(seen).toEqual(new Set(['closed', 'resting', 'probed']))
  },
  RUN_COUNT * COMMAND_COUNT * 50 + 60_000,
)

/** A process that reads now makes no call in a rest, and any number while the connection works. */
async function expectConsistent(model: Model, seen: Set<string>): Promise<void> {
  const row = await model.read()
  const isResting = row?.openedAt != null && (row.retryAt?.getTime() ?? 0) > 0
  const isProbed = row?.probeUntil != null && row.probeUntil.getTime() > 0
  seen.add(isResting ? 'resting' : isProbed ? 'probed' : 'closed')
  if (row && row.openedAt === null) expect(row.failures).toBeLessThan(FAILURES_MAX)
  const limit = await makeBreaker().limit(model.connectionId, 8)
  const isOpen = row?.openedAt != null
  expect(limit).toBe(isOpen ? (isResting || isProbed ? 0 : 1) : 8)
}

/** Once the bank works again, one call by one process is enough for all. */
async function expectRecovery(model: Model): Promise<void> {
  for (const call of model.calls.splice(0)) await model.end(call, 'is not made')
  await model.setPast('retryAt')
  await model.setPast('probeUntil')
  for (let index = 0; index < PROCESS_COUNT; index++) model.restart(index)
  const first = await model.begin(0)
  expect(first.isAdmitted).toBe(true)
  for (const call of model.calls.splice(0)) await model.end(call, 'succeeds')
  for (let index = 0; index < PROCESS_COUNT; index++) {
    model.restart(index)
    expect(await model.begin(index)).toEqual({ isAdmitted: true, probe: null })
  }
}
