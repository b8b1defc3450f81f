import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import { bookPage } from '#lib/charges/book-page.ts'
import { hastenReading } from '#lib/charges/hasten.ts'

/** Questions about single payments after one batch of notices: one list has all that are beyond. */
const QUESTIONS_MAX = 100
const CONCURRENCY_MAX = 4

/**
 * Asks the bank about payments by their end-to-end ids and books what it has: this depends on no time that the
 * bank writes, and on no list, which may be late. The list is read for the others. Called twice, it books once.
 */
export async function askAboutPayments(connection: ServedConnection, ids: string[]): Promise<void> {
  const { getPayment } = withConnectionJournal(connection)
  const found: ReceivedPayment[] = []
  const left = getPayment ? ids.slice(0, QUESTIONS_MAX) : []
  const ask = async () => {
    for (let id = left.pop(); getPayment && id !== undefined; id = left.pop()) {
      const result = await getPayment(id)
      if (result.outcome === 'ok' && result.value) found.push(result.value)
      // The bank wants no further calls, or cannot take any.
      if (result.outcome === 'retryable' || result.outcome === 'blocked') left.length = 0
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY_MAX }, ask))
  await bookPage(connection.id, found)
  if (found.length < ids.length) await hastenReading(connection.id)
}
