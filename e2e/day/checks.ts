import {
  type BankBook,
  type Book,
  type Item,
  type OwnBook,
  type Payout,
  readBalances,
  readBankBook,
  readOwnBook,
} from '#e2e/day/books.ts'
import type { Acknowledged } from '#e2e/day/merchants.ts'
import type { Plan } from '#e2e/day/plan.ts'
import type { Stage } from '#e2e/day/stage.ts'
import type { Time } from '#e2e/day/time.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { verifyLedger } from '#lib/ledger/check.ts'

/** Returns everything that must not be after a day; each finding is a sentence. */
export async function listFindings(
  { bank, connectionId, merchants }: Stage<unknown>,
  time: Time,
): Promise<string[]> {
  const [theirs, ours] = [await readBankBook(bank), await readOwnBook(connectionId)]
  // Lists are read again and again.
  const open = Object.entries(await time.listOpen()).filter(([kind]) => kind !== 'readings held')
  const balances = await readBalances()
  const { findings } = await verifyLedger(db())
  return [
    ...open.map(([kind, count]) => `not done: ${kind}: ${count}`),
    ...findPayments(theirs, ours),
    ...compare('payout', theirs.payouts, ours.payouts),
    ...findPaidTwice(theirs.payouts),
    ...compareReturns(theirs.payouts, ours.payouts),
    ...compare('refund', theirs.refunds, ours.refunds),
    ...compare('return', theirs.returns, ours.returns),
    ...differ('the balance at the bank', theirs.balance, ours.balance),
    ...differ(
      'what merchants and the operator have',
      balances.merchants + balances.operator,
      theirs.balance,
    ),
    ...differ('what is held for orders', ours.held, 0),
    ...findings.flatMap(({ violation }) => violation ?? []),
    ...(await findStrangers(merchants.map(({ id }) => id))),
  ]
}

/** Each payment is credited to its charge, or unmatched with a difference: once. */
function findPayments(theirs: BankBook & { txids: Map<string, string> }, ours: OwnBook): string[] {
  const booked = Map.groupBy(ours.payments, ({ id }) => id)
  const known = new Set(theirs.payments.map(({ id }) => id))
  return [
    ...theirs.payments.flatMap(({ id, amount }) => {
      const [first, ...more] = booked.get(id) ?? []
      const credited = ours.txids.get(id)
      return [
        ...(first ? [] : [`payment ${id} of ${amount} is not booked`]),
        ...(more.length > 0 ? [`payment ${id} is booked ${more.length + 1} times`] : []),
        ...differ(`payment ${id}`, amount, first?.amount ?? amount),
        ...(credited && credited !== theirs.txids.get(id)
          ? [`payment ${id} is of another charge`]
          : []),
        ...(first && !credited && !ours.differences.has(id)
          ? [`payment ${id} is not among the differences`]
          : []),
      ]
    }),
    ...ours.payments.flatMap(({ id }) =>
      known.has(id) ? [] : [`payment ${id} is not of the bank`],
    ),
  ]
}

/** An order that the bank does not have has failed, or is open, here. */
function compare(kind: string, theirs: Item[], ours: Item[]): string[] {
  const [there, here] = [toMap(theirs), toMap(ours)]
  return [
    ...theirs.flatMap(({ id, amount, state }) => {
      const own = here.get(id)
      if (!own) return [`${kind} ${id} at the bank is not of Troco`]
      return [
        ...differ(`${kind} ${id}`, amount, own.amount),
        ...(state === own.state
          ? []
          : [`${kind} ${id} is ${state} at the bank, here ${own.state}`]),
      ]
    }),
    ...ours.flatMap(({ id, state }) =>
      there.has(id) || state !== 'done' ? [] : [`${kind} ${id} is done, but not at the bank`],
    ),
  ]
}

/** Each payout of a day has its own receiver. */
function findPaidTwice(payouts: Payout[]): string[] {
  const paid = payouts.filter(({ state }) => state !== 'failed')
  return [...Map.groupBy(paid, ({ key }) => key)]
    .filter(([, { length }]) => length > 1)
    .map(([key, { length }]) => `${key} was paid ${length} times`)
}

function compareReturns(theirs: Payout[], ours: Payout[]): string[] {
  const here = toMap(ours)
  return theirs.flatMap(({ id, returned }) =>
    differ(`what came back of payout ${id}`, returned, here.get(id)?.returned ?? returned),
  )
}

function toMap<One extends Item>(items: One[]): Map<string, One> {
  return new Map(items.map(item => [item.id, item]))
}

function differ(what: string, theirs: number, ours: number): string[] {
  return theirs === ours ? [] : [`${what} is ${theirs} and ${ours}`]
}

/** A request that is repeated with its key makes one charge and one withdrawal. */
async function findStrangers(accountIds: string[]): Promise<string[]> {
  const where = { accountId: { in: accountIds } }
  const charges = await db().charge.groupBy({ by: ['clientName'], where, _count: true })
  const payouts = await db().withdrawal.groupBy({ by: ['dictKey'], where, _count: true })
  return [
    ...charges.flatMap(({ clientName, _count }) =>
      _count > 1 ? [`${clientName} has ${_count} charges`] : [],
    ),
    ...payouts.flatMap(({ dictKey, _count }) =>
      _count > 1 ? [`${dictKey} has ${_count} withdrawals`] : [],
    ),
  ]
}

/** Lists steps that were never acknowledged, and what was acknowledged but is not stored. */
export async function findLost(
  plan: Plan,
  acknowledged: Acknowledged,
  book: Book,
): Promise<string[]> {
  const names = ['charges', 'payouts', 'refunds'] as const
  const unanswered = names.flatMap(name =>
    plan.hours
      .flatMap(hour => hour[name].map(({ number }) => number))
      .filter(number => !acknowledged[name].has(number))
      .filter(number => name !== 'refunds' || !acknowledged.returned.has(number))
      .map(number => `${name}: step ${number} was not acknowledged`),
  )
  const rows = await db().charge.findMany({
    where: { id: { in: [...acknowledged.charges.values()] } },
  })
  const kept = new Set(rows.map(({ id }) => id))
  const orders = toMap([...book.payouts, ...book.refunds])
  const order = [...acknowledged.payouts.values(), ...acknowledged.refunds.values()]
  return [
    ...unanswered,
    ...[...acknowledged.charges.values()]
      .filter(id => !kept.has(id))
      .map(id => `charge ${id} is lost`),
    ...order.filter(id => !orders.has(removeHyphens(id))).map(id => `order ${id} is lost`),
  ]
}
