import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { BenchDatabase } from '../database.ts'
import type { LoadOrder, LoadOutcome } from '../load/generator.ts'
import type { Generator } from '../load/send.ts'
import { OPERATIONS, requireValidResponse } from '../operations.ts'
import type { OperationName, Options } from '../options.ts'
import { startServer, TITLES } from '../servers.ts'
import { makeWorld } from '../world.ts'
import { type Tally, tally } from './tally.ts'

const WARM_UP_MS = 4_000
const RECORD_MS = 6_000
const TOP_COUNT = 25
const TITLE_WIDTH = 42

export async function profileOperation(
  name: OperationName,
  database: BenchDatabase,
  generator: Generator,
  options: Options,
): Promise<boolean> {
  const world = await makeWorld(options, database.settings.DATABASE_OWNER_URL ?? '')
  const recorder = new URL('./recorder.ts', import.meta.url).href
  const { variant } = options
  const { child, port } = await startServer(variant, database.settings, ['--import', recorder])
  const requests = OPERATIONS[name].requests(world)
  const order: LoadOrder = {
    port,
    requests,
    connections: options.connections,
    rampMs: 0,
    measureMs: WARM_UP_MS,
  }
  process.stderr.write('Warming up\n')
  const { firstBody: first } = await generator.send(order)
  requireValidResponse(name, first, world)
  process.stderr.write('Recording\n')
  child.send({ record: 'start' })
  const outcome = await generator.send({ ...order, measureMs: RECORD_MS })
  mkdirSync('.cache', { recursive: true })
  const file = resolve(`.cache/bench-${name}-${variant}.cpuprofile`)
  const recorded = once(child, 'message')
  child.send({ record: 'stop', file })
  const [{ cpuUs }] = await recorded
  const sums = tally(JSON.parse(readFileSync(file, 'utf8')))
  const title = `${OPERATIONS[name].title}, ${TITLES[variant]}`
  process.stdout.write(formatTally(title, options.connections, sums, outcome, cpuUs))
  process.stdout.write(`${file} opens in Chrome's DevTools and in VS Code.\n`)
  return true
}

/**
 * Samples also count time in which the core ran another process, so they give only shares; the
 * thread's CPU time gives the amounts.
 */
function formatTally(
  title: string,
  connections: number,
  sums: Tally,
  outcome: LoadOutcome,
  cpuUs: number,
): string {
  const { busyUs, idleUs, groups, functions } = sums
  const cpuEach = cpuUs / outcome.responseCount
  const share = (us: number) => `${((100 * us) / busyUs).toFixed(1)} %`.padStart(8)
  const each = (us: number) => ((cpuEach * us) / busyUs).toFixed(1).padStart(8)
  const idle = Math.round((100 * idleUs) / (busyUs + idleUs))
  return [
    `${title}, ${connections} connections: ${Math.round(outcome.perSecond)} requests/s while recording`,
    `CPU time of the thread: ${cpuEach.toFixed(0)} µs per request; idle ${idle} % of the time.`,
    '',
    `${'group'.padEnd(TITLE_WIDTH)}    self      µs   including node's work`,
    ...groups
      .filter(({ selfUs, withNodeUs }) => Math.max(selfUs, withNodeUs) > busyUs / 1_000)
      .map(
        ({ group, selfUs, withNodeUs }) =>
          group.padEnd(TITLE_WIDTH) +
          share(selfUs) +
          each(selfUs) +
          share(withNodeUs) +
          each(withNodeUs),
      ),
    '',
    `The ${TOP_COUNT} functions with the most self time`,
    ...functions
      .slice(0, TOP_COUNT)
      .map(
        ({ location: place, group, selfUs }) =>
          `${share(selfUs)}${each(selfUs)}  ${place.slice(0, 58).padEnd(58)}  ${group.slice(0, 22)}`,
      ),
    '',
    '',
  ].join('\n')
}
