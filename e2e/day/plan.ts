import { drawHabits, listFaults, listWeathers, makeOutage, shuffle } from '#e2e/day/weather.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import type { Habits } from '#e2e/psp/habits.ts'
import type { Payee, SettingsChange } from '#e2e/psp/settings.ts'
import { Random } from '#lib/testing/random.ts'
import { pickSize } from '#lib/testing/size.ts'

/** How a payer pays a charge. A payment that is not exact must go to the differences. */
export type PaymentKind = 'exact' | 'wrong amount' | 'repeated' | 'no txid' | 'unknown txid'

export interface ChargeStep {
  number: number
  account: number
  amount: number
  expiresInS: number
  /** Null if the charge is not paid. */
  payment: PaymentKind | null
}

export interface PayoutStep {
  number: number
  account: number
  amount: number
  /** Each payout has its own receiver. */
  key: string
}

export interface RefundStep {
  number: number
  charge: number
  amount: number
}

export type Process = 'web' | 'first worker' | 'second worker'

/** A part of the day. Its steps run beside each other, in this order. */
export interface Hour {
  weather: string
  settings: SettingsChange
  faults: Fault[]
  revokesTokens: boolean
  /** Killed and started again after a third of the steps. */
  killed: Process | null
  charges: ChargeStep[]
  payouts: PayoutStep[]
  refunds: RefundStep[]
}

export interface Plan {
  seed: number
  accounts: number
  payees: Record<string, Payee>
  habits: Partial<Habits>
  hours: Hour[]
}

export interface Size {
  accounts: number
  charges: number
  payouts: number
  refunds: number
}

/** `npm test` has half of the requests, with as many faults and kills. */
export const DAY: Size = {
  accounts: 20,
  charges: pickSize(200, 400),
  payouts: pickSize(60, 120),
  refunds: pickSize(30, 60),
}

const AMOUNT_MIN = 5_000
const AMOUNT_MAX = 20_000
const PAYOUT_MIN = 1_000
const PAYOUT_MAX = 2_500
const HOUR_S = 3_600
const OTHERS = ['wrong amount', 'repeated', 'no txid', 'unknown txid', null] as const

/** Makes all choices of a day: the same seed makes the same plan. */
export function makePlan(seed: number, size: Size): Plan {
  const random = new Random(seed, 0)
  const weathers = listWeathers(random)
  const { long, short } = listFaults(random)
  const kills = shuffle(random, ['web', 'first worker', 'second worker'] as const)
  const charges = makeCharges(random, size)
  const [payouts, payees] = makePayouts(random, size)
  const refunds = makeRefunds(random, size, charges, weathers.length)
  const habits = drawHabits(random)
  const outageHour = random.between(1, weathers.length - 2)
  const hours = weathers.map(({ name, settings }, hour): Hour => {
    // Few that take long meet at a time, and they have ended when the day ends.
    const own = [
      ...partOf(long, hour, weathers.length / 2),
      ...partOf(short, hour, weathers.length),
    ]
    return {
      weather: name,
      settings,
      revokesTokens: hour % 3 === 1,
      faults: hour === outageHour ? [...own, makeOutage(random)] : own,
      killed: (hour % 2 === 1 && kills[(hour - 1) / 2]) || null,
      charges: charges.filter(
        ({ number }) => hourOf(number, size.charges, weathers.length) === hour,
      ),
      // The first two hours earn what is paid out later.
      payouts: payouts.filter(
        ({ number }) => 2 + hourOf(number, size.payouts, weathers.length - 2) === hour,
      ),
      refunds: refunds.filter(
        ({ number }) => 2 + hourOf(number, size.refunds, weathers.length - 2) === hour,
      ),
    }
  })
  return { seed, accounts: size.accounts, payees, habits, hours }
}

/** Returns the hour's share of a list that is spread evenly over the first hours. */
function partOf<T>(list: T[], hour: number, hours: number): T[] {
  return list.filter((_, number) => hourOf(number, list.length, hours) === hour)
}

function hourOf(number: number, count: number, hours: number): number {
  return Math.floor((number * hours) / count)
}

function makeCharges(random: Random, { accounts, charges }: Size): ChargeStep[] {
  return Array.from({ length: charges }, (_, number) => ({
    number,
    account: number % accounts,
    amount: random.between(AMOUNT_MIN, AMOUNT_MAX),
    expiresInS: random.chance(0.1) ? random.between(60, 180) : random.between(1, 3) * HOUR_S,
    // The first charges earn what is paid out and refunded.
    payment: random.chance(number < charges / 4 ? 0.95 : 0.8) ? 'exact' : random.pick(OTHERS),
  }))
}

function makePayouts(random: Random, { accounts, payouts }: Size) {
  const payees: Record<string, Payee> = {}
  const steps = Array.from({ length: payouts }, (_, number): PayoutStep => {
    const key = `payee-${number}@example.com`
    const amount = random.between(PAYOUT_MIN, PAYOUT_MAX)
    const payee = choosePayee(random, amount)
    if (payee) payees[key] = payee
    return { number, account: number % accounts, amount, key }
  })
  return [steps, payees] as const
}

function choosePayee(random: Random, amount: number): Payee | null {
  if (random.chance(0.75)) return null
  const part = random.between(1, amount - 1)
  return random.pick<Payee>([
    { refusal: 'payoutDenied' },
    { refusal: 'payeeKeyInvalid' },
    { failure: { codigo: 'AC03', motivo: 'Conta inexistente' } },
    { returns: [amount] },
    { returns: [part] },
    { returns: [part, amount - part] },
  ])
}

/** Refunds of charges that were paid in an hour before, each of another charge. */
function makeRefunds(
  random: Random,
  size: Size,
  charges: ChargeStep[],
  hours: number,
): RefundStep[] {
  const paid = charges.filter(
    ({ number, payment, expiresInS }) =>
      payment === 'exact' && expiresInS >= HOUR_S && hourOf(number, size.charges, hours) < 2,
  )
  return Array.from({ length: size.refunds }, (_, number) => {
    const { number: charge, amount } = paid[number % paid.length] as ChargeStep
    // Together, the refunds of a charge and the payouts of its account leave something of it.
    const most = Math.floor(amount / 4)
    return { number, charge, amount: random.between(1, most) }
  })
}
