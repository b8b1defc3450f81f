import { parseArgs } from 'node:util'
import { OPERATION_NAMES, type OperationName } from './operations.ts'
import { VARIANTS, type Variant } from './servers.ts'

export interface Options {
  only: OperationName[]
  rounds: number
  rampMs: number
  measureMs: number
  warmUpMs: number
  /** How many charges the two lists are read from. */
  smallList: number
  largeList: number
  profile: OperationName | null
  /** Whose time is profiled. */
  variant: Variant
}

/** Fewer would make no median. */
const ROUNDS_MIN = 3
const ROUNDS = 5

const USAGE = `npm run bench -- [--quick] [--rounds 5] [--only create,read,account,withdraw,list]
npm run bench -- --profile create [--server fast|next|fastify]`

export function readOptions(words: string[]): Options {
  const { values } = parseArgs({
    args: words,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      only: { type: 'string' },
      profile: { type: 'string' },
      server: { type: 'string', default: 'fast' },
    },
  })
  const rounds = Number(values.rounds ?? (values.quick ? ROUNDS_MIN : ROUNDS))
  if (!Number.isInteger(rounds) || rounds < ROUNDS_MIN)
    throw new Error(`--rounds is a whole number, ${ROUNDS_MIN} or more\n${USAGE}`)
  const variant = VARIANTS.find(known => known === values.server)
  if (!variant) throw new Error(`There is no such server: ${values.server}\n${USAGE}`)
  const profile = values.profile === undefined ? null : operations(values.profile)[0]
  const only = profile ? [profile] : operations(values.only ?? OPERATION_NAMES.join(','))
  const times = values.quick
    ? { rampMs: 200, measureMs: 600, warmUpMs: 700, smallList: 10_000, largeList: 100_000 }
    : { rampMs: 250, measureMs: 1_500, warmUpMs: 2_000, smallList: 100_000, largeList: 1_000_000 }
  return { only, rounds, profile: profile ?? null, variant, ...times }
}

/** `list` stands for both lists, because one alone says nothing. */
function operations(text: string): OperationName[] {
  const wanted = text.split(',').flatMap(name => (name === 'list' ? ['small', 'large'] : [name]))
  const found = OPERATION_NAMES.filter(name => wanted.includes(name))
  if (found.length === new Set(wanted).size) return found
  throw new Error(`There is no such operation: ${text}\n${USAGE}`)
}
