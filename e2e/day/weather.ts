import type { Fault } from '#e2e/psp/faults.ts'
import { type Habits, NO_HABITS } from '#e2e/psp/habits.ts'
import { completeSettings, type SettingsChange } from '#e2e/psp/settings.ts'
import type { Random } from '#lib/testing/random.ts'

export interface Weather {
  name: string
  settings: SettingsChange
}

/** Settings of a bank that does nothing wrong. */
export const CALM: SettingsChange = pickSettings(completeSettings({ kind: 'efi' }))

function pickSettings({ notices, quirks, clockOffsetMs, listsBehindMs, listSize }: SettingsChange) {
  return { notices, quirks, clockOffsetMs, listsBehindMs, listSize }
}

export const CLOCK_MS = 90_000

/** Lists the deviations of the bank, one for each hour, in an order that the seed chooses. */
export function listWeathers(random: Random): Weather[] {
  const all: [string, SettingsChange][] = [
    ['notices doubled, as arrays', { notices: { copies: random.between(2, 4), body: 'array' } }],
    ['notices reordered', { notices: { reorderBatch: random.between(3, 9) } }],
    ['notices early', { notices: { earlyMs: random.between(50, 300) } }],
    ['notices lying', { notices: { amountFactor: random.pick([0.01, 100]) } }],
    ['notices absent, lists 60 s behind', { notices: { isAbsent: true }, listsBehindMs: 60_000 }],
    ['clock 90 s behind', { clockOffsetMs: -CLOCK_MS, listSize: random.between(3, 9) }],
    ['clock 90 s ahead', { clockOffsetMs: CLOCK_MS, quirks: { hasNumbersAsText: true } }],
    [
      'notices absent, short pages',
      { notices: { isAbsent: true }, listSize: random.between(2, 6), quirks: { hasNulls: true } },
    ],
  ]
  return shuffle(random, all).map(([name, settings]) => ({ name, settings: merge(settings) }))
}

function merge({ notices, quirks, ...others }: SettingsChange): SettingsChange {
  return {
    ...CALM,
    ...others,
    notices: { ...CALM.notices, ...notices },
    quirks: { ...CALM.quirks, ...quirks },
  }
}

/** What the bank does all day beside its documents: about half of what can be drawn. */
export function drawHabits(random: Random): Habits {
  const drawn: Habits = {
    ...NO_HABITS,
    masksKeys: true,
    hasLocalTimes: true,
    hasEmptyObjects: true,
    shiftsPages: random.between(3, 9),
    refusesUnnamed: 1,
    hidesPayouts: random.between(1, 3),
    failsPayouts: random.between(3, 9),
    returnsPayments: random.between(5, 9),
    limitsRequests: random.between(60, 120),
    balanceBehindMs: random.between(1, 60) * 1_000,
  }
  const kept = Object.entries(drawn).filter(() => random.chance(0.5))
  return { ...NO_HABITS, ...Object.fromEntries(kept) }
}

/** Requests about which a fault may be, and how long a caller of Troco waits for them. */
const TARGETS = [
  { method: 'PUT', path: '/v2/cob/', waitMs: 4_000 },
  { method: 'GET', path: '/v2/cob/', waitMs: 10_000 },
  { method: 'GET', path: '/v2/pix', waitMs: 10_000 },
  { method: 'PUT', path: '/v2/pix/', waitMs: 10_000 },
  { method: 'PUT', path: '/v3/gn/pix/', waitMs: 10_000 },
  { method: 'GET', path: '/v2/gn/pix/enviados/', waitMs: 10_000 },
] as const

const LATE_MS = 500

/** Each fault of the bank for each kind of request, in an order of the seed. */
export function listFaults(random: Random): { long: Fault[]; short: Fault[] } {
  const long = TARGETS.flatMap(({ method, path, waitMs }): Fault[] => {
    const target = { method, path }
    // A day has no time for both: a caller waits to the end of its time.
    return [
      { ...target, hasActed: random.chance(0.5), kind: 'delay', delayMs: waitMs + LATE_MS },
      { ...target, hasActed: random.chance(0.5), kind: 'hang' },
    ]
  })
  const others = TARGETS.flatMap(({ method, path }) => listQuickFaults(random, { method, path }))
  const lists = { method: 'GET', path: '/v2/pix', kind: 'shift-pages' } as const
  const tokens = { method: 'POST', path: '/oauth/token' } as const
  const further: Fault[] = [
    lists,
    lists,
    lists,
    { ...tokens, kind: 'reset' },
    { ...tokens, kind: 'respond', status: 503 },
    { ...tokens, kind: 'half-body' },
  ]
  return { long: shuffle(random, long), short: shuffle(random, [...others, ...further]) }
}

function listQuickFaults(random: Random, target: Pick<Fault, 'method' | 'path'>): Fault[] {
  const beforeAndAfter = [false, true].flatMap((hasActed): Fault[] => [
    { ...target, hasActed, kind: 'delay', delayMs: random.between(50, 1_000) },
    { ...target, hasActed, kind: 'half-close' },
    { ...target, hasActed, kind: 'reset' },
    { ...target, hasActed, kind: 'respond', status: random.pick([500, 502, 503, 504]) },
  ])
  const limit: Fault = {
    ...target,
    kind: 'respond',
    status: 429,
    body: '{"nome":"limite_excedido","mensagem":"Muitas requisições"}',
    ...(random.chance(0.5) && { headers: { 'retry-after': '1' } }),
  }
  return [...beforeAndAfter, { ...target, kind: 'half-body' }, limit]
}

/** Long enough to let the connection rest. */
export function makeOutage(random: Random): Fault {
  return { kind: 'respond', status: 503, times: random.between(8, 16) }
}

export function shuffle<T>(random: Random, list: readonly T[]): T[] {
  return list
    .map(value => ({ value, place: random.fraction() }))
    .sort((one, other) => one.place - other.place)
    .map(({ value }) => value)
}
