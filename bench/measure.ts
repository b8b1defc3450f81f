import type { Outcome } from './load/generator.ts'
import type { Generator } from './load/send.ts'
import { OPERATIONS, requireRight } from './operations.ts'
import type { OperationName, Options } from './options.ts'
import { type Server, TITLES, type Variant } from './servers.ts'
import type { World } from './world.ts'

export const CONNECTIONS = 16
/** One client alone needs no longer: its latency hardly varies. */
const ALONE_SHARE = 0.3

export interface Figure {
  perSecond: number
  p50: number
  p99: number
}

/** One operation on one server. */
export type Cell = [OperationName, Variant]

export interface Results {
  of: (cell: Cell) => Figure
  /** How many times faster one was than the other, each round held against itself. */
  ratio: (one: Cell, other: Cell) => number
  /** The median latency of our own lane with one client. */
  alone: (name: OperationName) => number
  /** How often each operation was answered with 200 in all. */
  answered: (name: OperationName) => number
}

/**
 * Measures one operation after the other, and in each round every server in turn: what else the
 * machine does meanwhile hits all alike. Each figure is the median over the rounds.
 */
export async function measureAll(
  servers: Server[],
  generator: Generator,
  world: World,
  options: Options,
): Promise<Results> {
  const runs = new Map<string, Outcome[]>()
  const answered = new Map<OperationName, number>()
  const firsts = new Map<OperationName, string>()

  async function load(name: OperationName, server: Server, connections: number, ms: number) {
    const requests = OPERATIONS[name].requests(world)
    const order = { port: server.port, requests, connections, rampMs: options.rampMs }
    const outcome = await generator.send({ ...order, measureMs: ms }).catch(error => {
      throw new Error(`${OPERATIONS[name].title}, ${TITLES[server.variant]}: ${error.message}`)
    })
    if (server.variant === 'nothing') return outcome
    answered.set(name, (answered.get(name) ?? 0) + outcome.answered)
    requireRight(name, outcome.first, world, firsts.get(name))
    if (!firsts.has(name)) firsts.set(name, outcome.first)
    return outcome
  }

  async function keep(key: string, run: Promise<Outcome>): Promise<void> {
    runs.set(key, [...(runs.get(key) ?? []), await run])
  }

  for (const names of together(options.only)) {
    const pairs = pairsOf(servers, names, options.only[0])
    process.stderr.write(`Measuring ${names.join(' and ')}\n`)
    for (const { name, server } of pairs) await load(name, server, CONNECTIONS, options.warmUpMs)
    for (let round = 0; round < options.rounds; round++) {
      for (const { name, server } of pairs) {
        const key = `${name} ${server.variant}`
        await keep(key, load(name, server, CONNECTIONS, options.measureMs))
      }
      for (const { name, server } of pairs.filter(({ server }) => server.variant === 'fast')) {
        await keep(`${name} alone`, load(name, server, 1, options.measureMs * ALONE_SHARE))
      }
    }
  }
  return summarise(runs, answered)
}

function summarise(runs: Map<string, Outcome[]>, answered: Map<OperationName, number>): Results {
  const all = (key: string, part: keyof Figure) => (runs.get(key) ?? []).map(run => run[part])
  return {
    of: cell => {
      const of = (part: keyof Figure) => median(all(cell.join(' '), part))
      return { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99') }
    },
    ratio: (one, other) => {
      const others = all(other.join(' '), 'perSecond')
      return median(all(one.join(' '), 'perSecond').map((rate, at) => rate / (others[at] ?? 0)))
    },
    alone: name => median(all(`${name} alone`, 'p50')),
    answered: name => answered.get(name) ?? 0,
  }
}

/** The two lists are held against each other, so they take turns too. */
function together(only: OperationName[]): OperationName[][] {
  const isList = (name: OperationName) => name === 'small' || name === 'large'
  const others = only.filter(name => !isList(name)).map(name => [name])
  return [...others, only.filter(isList)].filter(names => names.length > 0)
}

/** What does nothing does it once, whatever is asked. */
function pairsOf(servers: Server[], names: OperationName[], first: OperationName | undefined) {
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
