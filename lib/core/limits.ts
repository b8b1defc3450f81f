import { formatReais } from '#lib/core/money.ts'

/** Limits of amounts in live mode: those of the account, and those of its connection to a bank. */
export const LIMITS = [
  ...(['account_charge', 'account_withdrawal', 'account_night', 'account_day'] as const),
  ...(['connection_withdrawal', 'connection_day'] as const),
] as const
export type LimitName = (typeof LIMITS)[number]

export interface ExceededLimit {
  name: LimitName
  /** The limit in cents; null for one that concerns other accounts too. */
  amount: number | null
  /** When the same amount is possible again; null: never. */
  freesAt: Date | null
}

const MAXIMUM_OF: Record<LimitName, string> = {
  account_charge: "this account's limit per charge",
  account_withdrawal: "this account's limit per withdrawal",
  account_night: "this account's limit from 20:00 to 06:00",
  account_day: "this account's limit per day",
  connection_withdrawal: "the bank connection's limit per withdrawal",
  connection_day: "the bank connection's limit per day",
}

/** Returns what is wrong with the amount; it follows the field's name. */
export function limitRule({ name, amount, freesAt }: ExceededLimit): string {
  const reais = amount === null ? null : `R$ ${formatReais(amount, 'en')}`
  const maximum = MAXIMUM_OF[name]
  if (freesAt === null)
    return reais ? `must be at most ${reais}, ${maximum}` : `must be at most ${maximum}`
  const total = reais ? `${reais}, ${maximum}` : maximum
  return `would bring the withdrawals above ${total}: possible again from ${freesAtText(freesAt)}`
}

/** A time as in all responses: UTC with microseconds. */
export function freesAtText(freesAt: Date): string {
  return freesAt.toISOString().replace('Z', '000Z')
}
