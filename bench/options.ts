import { parseArgs } from 'node:util'
import { VARIANTS, type Variant } from './servers.ts'

export const OPERATION_NAMES = ['create', 'read', 'account', 'withdraw', 'small', 'large'] as const
export type OperationName = (typeof OPERATION_NAMES)[number]

export const AFTER_NAMES = [
  'webhooks',
  'deliveries',
  'sweep',
  'hot',
  'bank',
  'pages',
  'neighbours',
] as const
export type AfterName = (typeof AFTER_NAMES)[number]

export interface Options {
  /** API operations to compare between servers. */
  only: OperationName[]
  /** Measurements of Troco alone, after the comparison. */
  after: AfterName[]
  paymentsMs: number
  deliveries: number
  dueCharges: number
  /** Length of a slice of API load; each slice gives one p99. */
  sliceMs: number
  hotCharges: number
  pgbenchSeconds: number
  neighboursMs: number
  dueReceivers: number
  pendingDeliveries: number
  rounds: number
  /** Clients that the operations are compared with; all send without a pause. */
  connections: number
  rampMs: number
  measureMs: number
  /** V8 compiles the functions of a request until it has run some 20,000 times. */
  warmUpMs: number
  smallList: number
  largeList: number
  profile: OperationName | null
  variant: Variant
}

const FULL = {
  rampMs: 250,
  measureMs: 1_500,
  warmUpMs: 6_000,
  smallList: 100_000,
  largeList: 1_000_000,
  paymentsMs: 10_000,
  deliveries: 5_000,
  dueCharges: 100_000,
  sliceMs: 1_000,
  hotCharges: 6_000,
  pgbenchSeconds: 2,
  neighboursMs: 30_000,
  dueReceivers: 100_000,
  pendingDeliveries: 1_000_000,
}
const QUICK: typeof FULL = {
  rampMs: 200,
  measureMs: 600,
  warmUpMs: 4_000,
  smallList: 10_000,
  largeList: 100_000,
  paymentsMs: 3_000,
  deliveries: 1_000,
  dueCharges: 20_000,
  sliceMs: 500,
  hotCharges: 2_000,
  pgbenchSeconds: 1,
  neighboursMs: 10_000,
  dueReceivers: 10_000,
  pendingDeliveries: 100_000,
}

/** Minimum number of rounds for a median. */
const ROUNDS_MIN = 3
const DEFAULT_ROUNDS = 5
/** Clients of a comparison, unless the command names others. */
export const CONNECTIONS = 16

const USAGE = `npm run bench -- [--quick] [--rounds 5] [--connections 16] [--only create,read,account,withdraw,list]
npm run bench -- [--quick] --only webhooks,deliveries,sweep,hot,bank,pages,neighbours
npm run bench -- --profile create [--server fast|fastify]`

export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      connections: { type: 'string' },
      only: { type: 'string' },
      profile: { type: 'string' },
      server: { type: 'string', default: 'fast' },
    },
  })
  const rounds = Number(values.rounds ?? (values.quick ? ROUNDS_MIN : DEFAULT_ROUNDS))
  if (!Number.isInteger(rounds) || rounds < ROUNDS_MIN)
    throw new Error(`--rounds is a whole number, ${ROUNDS_MIN} or more\n${USAGE}`)
  const connections = Number(values.connections ?? CONNECTIONS)
  if (!(Number.isInteger(connections) && connections > 0))
    throw new Error(`--connections is a whole number, 1 or more\n${USAGE}`)
  const variant = VARIANTS.find(known => known === values.server)
  if (!variant) throw new Error(`Unknown server: ${values.server}\n${USAGE}`)
  const [profile = null] = values.profile === undefined ? [] : parseOperations(values.profile)
  const all = [...OPERATION_NAMES, ...AFTER_NAMES].join(',')
  const chosen = profile ? { only: [profile], after: [] } : parseNames(values.only ?? all)
  const sizes = values.quick ? QUICK : FULL
  return { ...chosen, rounds, connections, profile, variant, ...sizes }
}

function parseOperations(text: string): OperationName[] {
  const { only, after } = parseNames(text)
  if (after.length === 0) return only
  throw new Error(`Only API operations can be profiled: ${text}\n${USAGE}`)
}

/** `list` selects both lists, because they are compared. */
function parseNames(text: string): Pick<Options, 'only' | 'after'> {
  const names = text.split(',').flatMap(name => (name === 'list' ? ['small', 'large'] : [name]))
  const only = OPERATION_NAMES.filter(name => names.includes(name))
  const after = AFTER_NAMES.filter(name => names.includes(name))
  if (only.length + after.length === new Set(names).size) return { only, after }
  throw new Error(`Unknown operation: ${text}\n${USAGE}`)
}
