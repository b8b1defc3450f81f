import { findPostmaster, readCpu } from './cpu.ts'
import type { LoadOutcome } from './load/generator.ts'
import type { Generator } from './load/send.ts'
import { OPERATIONS, requireValidResponse } from './operations.ts'
import type { OperationName, Options } from './options.ts'
import { type Server, TITLES, type Variant } from './servers.ts'
import type { World } from './world.ts'

/** Share of the measuring time for a single client: its latency hardly varies. */
const ALONE_SHARE = 0.3

export interface Figure {
  perSecond: number
  p50: number
  p99: number
  /** CPU of server and database per response, in µs. */
  cpuUs: number
  /** The part of it that the database took. */
  databaseUs: number
}

type Run = LoadOutcome & Pick<Figure, 'cpuUs' | 'databaseUs'>
export type Cell = [OperationName, Variant]

export interface Results {
  figureOf: (cell: Cell) => Figure
  /** Returns the median over the rounds of the ratio of two rates, or of their CPU. */
  ratio: (numerator: Cell, denominator: Cell, metric?: 'perSecond' | 'cpuUs') => number
  /** Median latency of a single client, in ms. */
  aloneP50: (cell: Cell) => number
  responseCount: (name: OperationName) => number
}

/**
 * Runs every server in turn within a round, so that other load on the machine affects all alike.
 * Figures are medians over the rounds.
 */
export async function measureAll(
  servers: Server[],
  generator: Generator,
  world: World,
  options: Options,
  databaseUrl: string,
): Promise<Results> {
  const runs = new Map<string, Run[]>()
  const postmaster = await findPostmaster(databaseUrl)
  const responseCounts = new Map<OperationName, number>()
  const firsts = new Map<OperationName, string>()

  async function runLoad(name: OperationName, server: Server, connections: number, ms: number) {
    const requests = OPERATIONS[name].requests(world)
    const order = { port: server.port, requests, connections, rampMs: options.rampMs }
    const before = readCpu(server.child, postmaster)
    const outcome = await generator.send({ ...order, measureMs: ms }).catch(error => {
      throw new Error(`${OPERATIONS[name].title}, ${TITLES[server.variant]}: ${error.message}`)
    })
    const after = readCpu(server.child, postmaster)
    const databaseUs = (after.database - before.database) / outcome.responseCount
    const cpuUs = (after.server - before.server) / outcome.responseCount + databaseUs
    if (server.variant === 'nothing') return { ...outcome, cpuUs, databaseUs }
    responseCounts.set(name, (responseCounts.get(name) ?? 0) + outcome.responseCount)
    requireValidResponse(name, outcome.firstBody, world, firsts.get(name))
    if (!firsts.has(name)) firsts.set(name, outcome.firstBody)
    return { ...outcome, cpuUs, databaseUs }
  }

  async function storeRun(key: string, run: Promise<Run>): Promise<void> {
    runs.set(key, [...(runs.get(key) ?? []), await run])
  }

  for (const names of groupOperations(options.only)) {
    const pairs = listPairs(servers, names, options.only[0])
    process.stderr.write(`Measuring ${names.join(' and ')}\n`)
    const { connections, measureMs, warmUpMs } = options
    for (const { name, server } of pairs) await runLoad(name, server, connections, warmUpMs)
    for (let round = 0; round < options.rounds; round++) {
      for (const { name, server } of pairs) {
        const key = `${name} ${server.variant}`
        await storeRun(key, runLoad(name, server, connections, measureMs))
        await storeRun(`${key} alone`, runLoad(name, server, 1, measureMs * ALONE_SHARE))
      }
    }
  }
  return summarise(runs, responseCounts)
}

function summarise(runs: Map<string, Run[]>, responseCounts: Map<OperationName, number>): Results {
  const valuesOf = (key: string, metric: keyof Figure) =>
    (runs.get(key) ?? []).map(run => run[metric])
  return {
    figureOf: cell => {
      const medianOf = (metric: keyof Figure) => median(valuesOf(cell.join(' '), metric))
      return {
        perSecond: medianOf('perSecond'),
        p50: medianOf('p50'),
        p99: medianOf('p99'),
        cpuUs: medianOf('cpuUs'),
        databaseUs: medianOf('databaseUs'),
      }
    },
    ratio: (numerator, denominator, metric = 'perSecond') => {
      const denominators = valuesOf(denominator.join(' '), metric)
      return median(
        valuesOf(numerator.join(' '), metric).map(
          (rate, round) => rate / (denominators[round] ?? 0),
        ),
      )
    },
    aloneP50: cell => median(valuesOf(`${cell.join(' ')} alone`, 'p50')),
    responseCount: name => responseCounts.get(name) ?? 0,
  }
}

/**
 * Groups operations that are measured in turn: the two lists form one group, because they are
 * compared with each other.
 */
function groupOperations(only: OperationName[]): OperationName[][] {
  const isList = (name: OperationName) => name === 'small' || name === 'large'
  const others = only.filter(name => !isList(name)).map(name => [name])
  return [...others, only.filter(isList)].filter(names => names.length > 0)
}

/** Pairs operations with servers. The bare server ignores the request: one operation suffices. */
function listPairs(servers: Server[], names: OperationName[], first: OperationName | undefined) {
  return servers.flatMap(server =>
    names
      .filter(name => server.variant !== 'nothing' || name === first)
      .map(name => ({ name, server })),
  )
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2
}
