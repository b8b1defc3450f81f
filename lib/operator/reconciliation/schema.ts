import type { Prisma } from '#lib/db/client.ts'

/** `fee_return`: of a fee. `reversal`: the bank undid a payout or refund. `transfer`: other than by PIX. */
export type What =
  | ('payment' | 'refund' | 'payout' | 'payout_return')
  | ('fee' | 'fee_return' | 'reversal' | 'transfer')

export type Facts = Record<string, string | number | null>

/** A movement of money as the bank names it. */
export interface BankRow {
  what: What
  /** Ids by which it is found here, the best one first. */
  keys: string[]
  /** In cents; negative when money leaves the account. */
  amount: number
  at: Date
  /** Payment or payout that a refund, payout or reversal is about. */
  payment?: string | null
  facts: Facts
}

/** The same movement in the books, or an order that has not moved money. */
export interface OwnRow {
  what: What
  keys: string[]
  amount: number
  /** Time of booking; null: nothing is booked. */
  at: Date | null
  state: 'booked' | 'pending' | 'rejected'
  facts: Facts
}

export interface DayToCompare {
  day: string
  bank: BankRow[]
  /** Ours that were booked on the day, or have a key of the bank's rows. */
  ours: OwnRow[]
  /** Marks of Troco's orders that the bank has on other days; see `strays`. */
  elsewhere: Set<string>
  /** Kinds of movements that the bank's report covers. No other kind can be missing there. */
  covers: Set<What>
  now: Date
}

export interface Difference {
  kind: 'day_missing_here' | 'day_missing_there' | 'day_different'
  what: What
  /** Of all differences of a connection, this one. */
  key: string
  bank: BankRow | null
  ours: OwnRow | null
}

export interface Comparison {
  matched: number
  /** Too new to be judged. */
  waiting: number
  differences: Difference[]
  /** Marks of the bank's rows whose own row was booked on another day, for the comparison of that day. */
  strays: string[]
}

/** How a kind of movement is found and named. `t` is its transfer, `s` its row. */
export interface OwnSource {
  what: OwnRow['what']
  movement: string
  sign: 1 | -1
  from: Prisma.Sql
  /** Join of `t`. Default: the transfer of the movement. */
  booked?: Prisma.Sql
  /** Default: the amount of `t`, or of `s` if nothing is booked. */
  amount?: Prisma.Sql
  /** Condition that finds rows of these payments, those without a transfer included. */
  byKeys: (payments: string[], connectionId: string) => Prisma.Sql
  keys: Prisma.Sql
  rejected?: Prisma.Sql
  facts: Prisma.Sql
}
