import { type Claim, withLease } from '#lib/base/db/claim.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { log } from '#lib/base/log.ts'
import { MODES, type Mode } from '#lib/base/mode.ts'
import { endOthers, queryAndEnd } from '#lib/rooms/charges/verify.ts'
import { gatewayOf } from '#lib/services/gateway/choose.ts'

const BATCH_MAX = 250
/** Charges that need different calls, so that removing many delays no question about payments. */
const PENDING = Prisma.sql`status = 'pending'`
const OTHERS = Prisma.sql`status <> 'pending'`

/** Work on charges that calls a bank and is not awaited. */
export interface Verifier {
  run: () => void
  /** Awaits the batches in progress. Returns how many charges they had. */
  idle: () => Promise<number>
}

/**
 * Creates a verifier of due charges. A bank that hangs holds up one batch of its mode and kind.
 * `onCapacity` is called when a batch has ended.
 */
export function createVerifier(chooseGateway = gatewayOf, onCapacity = () => {}): Verifier {
  const inProgress = new Map<string, Promise<number>>()

  function start(mode: Mode, kind: Prisma.Sql, work: typeof queryAndEnd): void {
    const name = `${mode} ${kind.text}`
    if (inProgress.has(name)) return
    const condition = Prisma.sql`mode = ${mode} AND ${kind}`
    const verify = (due: Claim[]) => work(chooseGateway(mode), due)
    const batch = withLease('charges', BATCH_MAX, verify, condition)
      .catch(error => {
        log().error({ err: error, mode }, 'verifying due charges failed')
        return 0
      })
      .then(count => {
        inProgress.delete(name)
        if (count > 0) onCapacity()
        return count
      })
    inProgress.set(name, batch)
  }

  return {
    run() {
      for (const mode of MODES) {
        start(mode, PENDING, queryAndEnd)
        start(mode, OTHERS, endOthers)
      }
    },
    async idle() {
      const counts = await Promise.all(inProgress.values())
      return counts.reduce((sum, count) => sum + count, 0)
    },
  }
}
