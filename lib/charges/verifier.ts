import { breaker } from '#lib/banks/breaker.ts'
import type { ServedConnection } from '#lib/banks/served.ts'
import { endOthers, queryAndEnd } from '#lib/charges/verify.ts'
import { log } from '#lib/core/log.ts'
import { Pool } from '#lib/core/pool.ts'
import { type Claim, withLease } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'

const BATCH_MAX = 250
/** Charges that need different calls, so that removing many delays no question about payments. */
const PENDING = Prisma.sql`r.status = 'pending'`
const OTHERS = Prisma.sql`r.status <> 'pending'`

/** Work on charges that calls a bank and is not awaited. */
export interface Verifier {
  run: (connections: ServedConnection[]) => void
  /** Awaits the batches in progress. Returns how many charges were claimed since it was called last. */
  idle: () => Promise<number>
}

/**
 * Creates a verifier of due charges. A bank that hangs holds up one batch of its connection and kind.
 * `onCapacity` is called when a batch has ended.
 */
export function createVerifier(onCapacity = () => {}): Verifier {
  const batches = new Pool()
  let claimedCount = 0

  function start(
    { id, gateway }: ServedConnection,
    kind: Prisma.Sql,
    work: typeof queryAndEnd,
  ): void {
    const key = `${id} ${kind.text}`
    if (batches.free(key) === 0) return
    const verify = async () => {
      const limit = gateway.local ? BATCH_MAX : await breaker.limit(id, BATCH_MAX)
      const condition = Prisma.sql`r.connection_id = ${id}::uuid AND ${kind}`
      const batch = (due: Claim[]) => work(gateway, due)
      const count = limit === 0 ? 0 : await withLease('charges', limit, batch, { condition })
      claimedCount += count
      hasMore = count > 0
    }
    let hasMore = false
    batches
      .start(
        verify(),
        err => log().error({ err, connectionId: id }, 'verifying due charges failed'),
        key,
      )
      // A batch that found nothing frees nothing: the next poll looks again.
      .then(() => hasMore && onCapacity())
  }

  return {
    run(connections) {
      for (const connection of connections) {
        start(connection, PENDING, queryAndEnd)
        start(connection, OTHERS, endOthers)
      }
    },
    async idle() {
      await batches.idle()
      const count = claimedCount
      claimedCount = 0
      return count
    },
  }
}
