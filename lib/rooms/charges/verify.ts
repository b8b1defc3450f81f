import { runBatch, runConcurrently } from '#lib/base/db/batch.ts'
import { type Claim, postpone, withLease } from '#lib/base/db/claim.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import { MODES } from '#lib/base/mode.ts'
import { cancelOpening } from '#lib/rooms/charges/cancel.ts'
import { closeCharges } from '#lib/rooms/charges/close.ts'
import { nextQueryAt, nowPlusMs, postponeCharges } from '#lib/rooms/charges/postpone.ts'
import { settleInOrder } from '#lib/rooms/charges/settle.ts'
import type { gatewayOf } from '#lib/services/gateway/choose.ts'
import type { ChargeState, Gateway } from '#lib/services/gateway/gateway.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'

const BATCH_MAX = 250
/** Maximum openings of a batch cancelled concurrently. */
const CONCURRENCY_MAX = 8
/** Pause before retrying a bank that could not report the state of a charge. */
const RETRY_PAUSE_MS = 15_000

/** Settles, closes or postpones each due charge as the bank reports; cancels stuck openings. */
export function verifyDueCharges(chooseGateway: typeof gatewayOf): Promise<number> {
  return withLease('charges', BATCH_MAX, async due => {
    for (const mode of MODES) {
      const [opening, pending] = [true, false].map(isOpening =>
        due.filter(claim => claim.mode === mode && (claim.status === 'opening') === isOpening),
      ) as [Claim[], Claim[]]
      if (pending.length > 0) await queryAndEnd(chooseGateway(mode), pending)
      await runConcurrently(opening, CONCURRENCY_MAX, async claim => {
        const isCancelled = await cancelOpening(chooseGateway(mode), claim).catch(error =>
          logFailure(error, claim),
        )
        if (isCancelled === false) await postpone('charges', claim, RETRY_PAUSE_MS)
      })
    }
  })
}

async function queryAndEnd(gateway: Gateway, due: Claim[]): Promise<void> {
  const result = await withJournal(gateway, due).getCharges(
    due.map(claim => removeHyphens(claim.id)),
  )
  if (result.outcome !== 'ok') return postponeCharges(due, nowPlusMs(RETRY_PAUSE_MS))
  const open: Claim[] = []
  const ended = { paid: [] as PaidClaim[], failed: [] as Claim[], expired: [] as Claim[] }
  for (const claim of due) {
    const chargeState: ChargeState = result.value.get(removeHyphens(claim.id)) ?? { state: 'open' }
    if (chargeState.state === 'paid') ended.paid.push({ ...claim, ...chargeState })
    else if (chargeState.state === 'open') open.push(claim)
    else ended[chargeState.state === 'failed' ? 'failed' : 'expired'].push(claim)
  }
  await endCharges(ended.paid, paid =>
    settleInOrder(paid.map(claim => ({ ...claim, chargeId: claim.id }))),
  )
  await endCharges(ended.failed, claims => closeCharges(claims.map(toClosing), 'failed'))
  await endCharges(ended.expired, claims => closeCharges(claims.map(toClosing), 'expired'))
  const toExpiry = (claim: Claim) => ({ ...toClosing(claim), ifTimeUp: true })
  const processed = await endCharges(open, claims => closeCharges(claims.map(toExpiry), 'expired'))
  await postponeCharges(
    processed,
    Prisma.sql`LEAST(c.expires_at, ${nextQueryAt(gateway.queryAgesMs)})`,
  )
}

type PaidClaim = Claim & Extract<ChargeState, { state: 'paid' }>

function toClosing({ accountId, id, lease }: Claim) {
  return { accountId, chargeId: id, lease }
}

/** Returns the claims that succeeded; a claim that failed keeps its lease until it expires. */
async function endCharges<Item extends Claim>(
  due: Item[],
  end: (due: Item[]) => Promise<unknown[]>,
): Promise<Item[]> {
  if (due.length === 0) return []
  const outcomes = await runBatch(due, end)
  const failed = outcomes.map(
    (outcome, index) => [outcome.ok ? null : outcome.error, due[index] as Item] as const,
  )
  for (const [error, claim] of new Map(failed)) if (error) logFailure(error, claim)
  return due.filter((_, index) => outcomes[index]?.ok)
}

function logFailure(error: unknown, { id }: Claim): void {
  log().error({ err: error, chargeId: id }, 'verifying a due charge failed')
}
