import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { keepUnmatched } from '#lib/charges/keep-unmatched.ts'
import type { ChargeRow } from '#lib/charges/schema.ts'
import { type Payment, settleCharges } from '#lib/charges/settle.ts'
import { createBatcher } from '#lib/db/batch.ts'

/** What a bank reports about a charge: each payment that it received for it. */
export interface PaymentReport
  extends Pick<Payment, 'accountId' | 'chargeId' | 'bookedAt' | 'lease' | 'trace'> {
  payments: ReceivedPayment[]
}

/**
 * Credits each charge with its earliest payment of the right amount, and then moves those that can pay
 * no charge to `unmatched`. Returns the row of each charge that was credited now, else null. After a crash between
 * the two, a repeated report moves the rest: each payment is booked once.
 */
export async function receivePayments(reports: PaymentReport[]): Promise<(ChargeRow | null)[]> {
  const credited = new Map<string, ChargeRow>()
  const queues = reports.map(report => ({ ...report, payments: report.payments.toSorted(byTime) }))
  const roundCount = Math.max(...queues.map(({ payments }) => payments.length))
  for (let round = 0; round < roundCount; round++) {
    const payments = queues.flatMap(({ payments, ...charge }) => {
      const payment = credited.has(charge.chargeId) ? undefined : payments[round]
      return payment ? { ...charge, ...payment } : []
    })
    if (payments.length === 0) break
    for (const row of await settleCharges(payments)) credited.set(row.id, row)
  }
  const rest = reports.flatMap(({ payments, accountId, chargeId }) =>
    payments
      .filter(({ endToEndId }) => credited.get(chargeId)?.end_to_end_id !== endToEndId)
      .map(payment => ({ payment, accountId, chargeId })),
  )
  if (rest.length > 0) await keepUnmatched(rest)
  return reports.map(({ chargeId }) => credited.get(chargeId) ?? null)
}

function byTime(one: ReceivedPayment, other: ReceivedPayment): number {
  const earlierMs = one.paidAt.getTime() - other.paidAt.getTime()
  return earlierMs || (one.endToEndId < other.endToEndId ? -1 : 1)
}

/** Batches the reports of an account, because all of them update the same balance row. */
export const receivePayment = createBatcher({
  run: receivePayments,
  queueOf: ({ accountId }: PaymentReport) => accountId,
  keyOf: ({ chargeId }: PaymentReport) => chargeId,
  batchMax: 200,
})
