import { type Claim, withLease } from '#lib/base/db/claim.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { endOthers, queryAndEnd } from '#lib/rooms/charges/verify.ts'
import { breaker } from '#lib/services/gateway/breaker.ts'
import type { ServedConnection } from '#lib/services/gateway/choose.ts'

const BATCH_MAX = 250
/** Charges that need different calls, so that removing many delays no question about payments. */
const PENDING = Prisma.sql`status = 'pending'`
const OTHERS = Prisma.sql`status <> 'pending'`

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
  const inProgress = new Map<string, Promise<void>>()
  let claimedCount = 0

  function start(
    { id, gateway }: ServedConnection,
    kind: Prisma.Sql,
    work: typeof queryAndEnd,
  ): void {
    const findLimit = async () => (gateway.local ? BATCH_MAX : breaker.limit(id, BATCH_MAX))
    const name = `${id} ${kind.text}`
    if (inProgress.has(name)) return
    const condition = Prisma.sql`connection_id = ${id}::uuid AND ${kind}`
    const verify = (due: Claim[]) => work(gateway, due)
    const batch = findLimit()
      .then(limit => (limit === 0 ? 0 : withLease('charges', limit, verify, condition)))
      .catch(error => {
        log().error({ err: error, connectionId: id }, 'verifying due charges failed')
        return 0
      })
      .then(count => {
        inProgress.delete(name)
        claimedCount += count
        if (count > 0) onCapacity()
      })
    inProgress.set(name, batch)
  }

  return {
    run(connections) {
      for (const connection of connections) {
        start(connection, PENDING, queryAndEnd)
        start(connection, OTHERS, endOthers)
      }
    },
    async idle() {
      await Promise.all(inProgress.values())
      const count = claimedCount
      claimedCount = 0
      return count
    },
  }
}
