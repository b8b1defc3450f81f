import type { Results } from './measure.ts'
import { OPERATION_NAMES, type OperationName, type Options } from './options.ts'

export interface Verdict {
  requirement: string
  measured: string
  isMet: boolean
}

type Judged = Verdict & { operations: OperationName[] }

interface Target {
  name: OperationName
  title: string
  /** Minimum share of Fastify + pg, in requests per second and, the other way round, in CPU per request. */
  shareMin: number
  /** The same with many clients, of whom more share a statement. */
  shareOfManyMin?: number
  /** Whether the latency of a single client is compared, too. */
  isComparedAlone?: true
}

const TARGETS: Target[] = [
  {
    name: 'create',
    title: 'create charge',
    shareMin: 0.95,
    shareOfManyMin: 1.2,
    isComparedAlone: true,
  },
  {
    name: 'read',
    title: 'read charge',
    shareMin: 0.95,
    shareOfManyMin: 1.2,
    isComparedAlone: true,
  },
  { name: 'account', title: 'read account', shareMin: 0.95, isComparedAlone: true },
  { name: 'withdraw', title: 'withdraw on one account', shareMin: 1 },
  { name: 'large', title: 'list of the large account', shareMin: 0.9 },
]
const MANY_CONNECTIONS = 64

const SINGLE_CLIENT_RATIO_MAX = 1.25
const LIST_COST_RATIO_MAX = 1.25
const CREATE_P99_MAX_MS = 50
/** After the load of all operations. */
const MEMORY_MAX_MB = 230

export function judgeResults(
  results: Results,
  { only, connections }: Pick<Options, 'only' | 'connections'>,
  memoryMb: number,
): Verdict[] {
  const isMany = connections >= MANY_CONNECTIONS
  const verdicts = [
    ...TARGETS.map(target => judgeShare(results, target, isMany)),
    ...TARGETS.filter(target => target.isComparedAlone).map(target =>
      judgeSingleClient(results, target),
    ),
    ...(isMany ? [] : [judgeCreateTail(results)]),
    judgeListCost(results),
    judgeMemory(memoryMb),
  ]
  return verdicts.filter(({ operations: of }) => of.every(name => only.includes(name)))
}

function judgeShare(results: Results, target: Target, isMany: boolean): Judged {
  const { name, title, shareMin, shareOfManyMin = shareMin } = target
  const min = isMany ? shareOfManyMin : shareMin
  const rate = results.ratio([name, 'fast'], [name, 'fastify'])
  const cpu = results.ratio([name, 'fastify'], [name, 'fast'], 'cpuUs')
  return {
    operations: [name],
    requirement: `${title}: at least ${Math.round(min * 100)} % of Fastify + pg, in requests and by CPU`,
    measured: `${Math.round(rate * 100)} and ${Math.round(cpu * 100)} %`,
    isMet: rate >= min && cpu >= min,
  }
}

function judgeSingleClient(results: Results, { name, title }: Target): Judged {
  const ratio = results.aloneP50([name, 'fast']) / results.aloneP50([name, 'fastify'])
  return {
    operations: [name],
    requirement: `${title}, one client: p50 at most ${SINGLE_CLIENT_RATIO_MAX} times that of Fastify + pg`,
    measured: `${ratio.toFixed(2)} times`,
    isMet: ratio <= SINGLE_CLIENT_RATIO_MAX,
  }
}

function judgeCreateTail(results: Results): Judged {
  const { p99 } = results.figureOf(['create', 'fast'])
  return {
    operations: ['create'],
    requirement: `create charge: p99 at most ${CREATE_P99_MAX_MS} ms`,
    measured: `${p99.toFixed(1)} ms`,
    isMet: p99 <= CREATE_P99_MAX_MS,
  }
}

function judgeListCost(results: Results): Judged {
  const cost = results.ratio(['small', 'fast'], ['large', 'fast'])
  return {
    operations: ['small', 'large'],
    requirement: `list: the large account costs at most ${Math.round((LIST_COST_RATIO_MAX - 1) * 100)} % more than the small one`,
    measured: `${((cost - 1) * 100).toFixed(0)} %`,
    isMet: cost <= LIST_COST_RATIO_MAX,
  }
}

function judgeMemory(memoryMb: number): Judged {
  return {
    operations: [...OPERATION_NAMES],
    requirement: `memory of the server after the load of all operations: at most ${MEMORY_MAX_MB} MB`,
    measured: `${memoryMb} MB`,
    isMet: memoryMb <= MEMORY_MAX_MB,
  }
}
