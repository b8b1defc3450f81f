import type { RunningBank } from '#e2e/psp/start.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import type { Movement } from '#lib/ledger/book.ts'

/** A payment, payout, refund or return as one side knows it. Amounts are in cents. */
export interface Item {
  /** The bank's id, or the one that Troco gave the bank. */
  id: string
  amount: number
  state: 'open' | 'done' | 'failed'
}

export interface Payout extends Item {
  key: string
  returned: number
}

/** All money of a connection, by the records of the bank or of Troco. */
export interface Book {
  /** Received payments by their end-to-end id; one that is booked twice is there twice. */
  payments: Item[]
  payouts: Payout[]
  refunds: Item[]
  /** Returns of payments that the bank made on its own. */
  returns: Item[]
  /** Sum of all movements in cents, without the opening balance and the bank's fees. */
  balance: number
}

export interface BankBook extends Book {
  /** Fees that the bank took. Troco does not read them from banks. */
  fees: number
}

export interface OwnBook extends Book {
  /** Charge that each credited payment was booked to, as the bank knows it. */
  txids: Map<string, string>
  /** Payments among the differences. */
  differences: Set<string>
  /** Cents held for orders of merchants; 0 when all have ended. */
  held: number
}

const ENDS: Record<string, Item['state']> = {
  REALIZADO: 'done',
  DEVOLVIDO: 'done',
  NAO_REALIZADO: 'failed',
  approved: 'done',
  completed: 'done',
  rejected: 'failed',
}
const stateOf = (status: string) => ENDS[status] ?? 'open'

export async function readBankBook(
  bank: RunningBank,
): Promise<BankBook & { txids: Map<string, string> }> {
  const { payments, payouts } = await bank.run('readRecords')
  const { entries, balance } = await bank.run('readBook')
  const sum = (pattern: RegExp) =>
    entries
      .filter(({ kind }) => pattern.test(kind))
      .reduce((total, { amount }) => total + amount, 0)
  const fees = 0 - sum(/_fee$/)
  return {
    payments: payments.map(({ e2eid: id, amount }) => ({ id, amount, state: 'done' })),
    txids: new Map(payments.flatMap(({ e2eid, txid }) => (txid ? [[e2eid, txid]] : []))),
    payouts: payouts.map(({ idEnvio: id, amount, status, payeeKey: key, returns }) => ({
      id,
      amount,
      key,
      state: stateOf(status),
      returned: returns.reduce((total, each) => total + each.amount, 0),
    })),
    refunds: payments.flatMap(({ refunds }) => refunds.filter(isOrdered).map(toItem)),
    returns: payments.flatMap(({ refunds }) =>
      refunds.filter(refund => !isOrdered(refund)).map(toItem),
    ),
    fees,
    balance: balance - sum(/^opening$/) + fees,
  }
}

/** The bank gives its own returns no id but that of the return. */
const isOrdered = ({ id, rtrId }: { id: string; rtrId: string }) => id !== rtrId
const toItem = ({ id, amount, status }: { id: string; amount: number; status: string }): Item => ({
  id,
  amount,
  state: stateOf(status),
})

const ACCOUNTED = { mode: 'live' }

export async function readOwnBook(connectionId: string): Promise<OwnBook> {
  const ofConnection = { where: { connectionId } }
  const [
    charges,
    suspended,
    items,
    withdrawals,
    payoutReturns,
    refunds,
    returns,
    transfers,
    outbound,
  ] = await Promise.all([
    db().charge.findMany(ofConnection),
    db().unmatchedPayment.findMany(ofConnection),
    db().difference.findMany(ofConnection),
    db().withdrawal.findMany(ofConnection),
    db().payoutReturn.findMany(ofConnection),
    db().refund.findMany(ofConnection),
    db().paymentReturn.findMany(ofConnection),
    db().ledgerTransfer.findMany({ where: { ...ACCOUNTED, connectionId } }),
    db().ledgerAccount.aggregate({
      where: { ...ACCOUNTED, ledger: 'outbound' },
      _sum: { balance: true },
    }),
  ])
  const amounts = sumBySubject(transfers)
  const undone = new Set(payoutReturns.map(({ returnId }) => returnId))
  const credited = charges.filter(({ endToEndId }) => endToEndId !== null)
  return {
    payments: [
      ...credited.map(({ id, endToEndId }) =>
        toPayment(endToEndId, amounts.get(`charge_paid ${id}`)),
      ),
      ...suspended.map(({ id, endToEndId }) =>
        toPayment(endToEndId, amounts.get(`unmatched_received ${id}`)),
      ),
    ],
    txids: new Map(credited.map(({ endToEndId, txid }) => [endToEndId ?? '', txid])),
    differences: new Set(items.map(({ key }) => key)),
    payouts: withdrawals.map(row => {
      const { id, amount, status, dictKey: key, returnedAmount } = row
      const payout = { id: removeHyphens(id), amount: Number(amount), key }
      // One that failed after it was done has come back whole, under the id of its own payment.
      return undone.has(row.endToEndId ?? '') && returnedAmount === amount
        ? { ...payout, state: 'failed', returned: 0 }
        : { ...payout, state: stateOf(status), returned: Number(returnedAmount) }
    }),
    refunds: refunds.map(({ id, amount, status }) => ({
      id: removeHyphens(id),
      amount: Number(amount),
      state: stateOf(status),
    })),
    returns: returns.map(({ returnId: id, amount }) => ({
      id,
      amount: Number(amount),
      state: 'done',
    })),
    balance: transfers.reduce(
      (total, { debit, credit, amount }) =>
        total +
        (debit === 'external' ? Number(amount) : credit === 'external' ? -Number(amount) : 0),
      0,
    ),
    held: Number(outbound._sum.balance ?? 0),
  }
}

/** Sums the cents that the ledger moved, by kind of movement and subject. */
function sumBySubject(
  transfers: { kind: string; subjectId: string; amount: bigint; accountId: string }[],
): Map<string, number> {
  const amounts = new Map<string, number>()
  for (const { kind, subjectId, amount } of transfers) {
    const name = `${kind satisfies string as Movement} ${subjectId}`
    amounts.set(name, (amounts.get(name) ?? 0) + Number(amount))
  }
  return amounts
}

function toPayment(id: string | null, amount = 0): Item {
  return { id: id ?? '', amount, state: 'done' }
}

/** Everything that the operator and the merchants have in live mode, by ledger. */
export async function readBalances(): Promise<{ merchants: number; operator: number }> {
  const rows = await db().ledgerAccount.findMany({ where: ACCOUNTED })
  const sum = (isOperators: boolean) =>
    rows
      .filter(
        ({ accountId, ledger }) =>
          (accountId === OPERATOR_ACCOUNT_ID) === isOperators && ledger !== 'external',
      )
      .reduce((total, { balance }) => total + Number(balance), 0)
  return { merchants: sum(false), operator: sum(true) }
}
