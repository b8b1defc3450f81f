import type { ChargeState, Gateway } from '#lib/banks/gateway.ts'
import { type Closing, closeCharges } from '#lib/charges/close.ts'
import { nextQueryAt, postponeCharges } from '#lib/charges/postpone.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { log } from '#lib/core/log.ts'
import { runBatch } from '#lib/db/batch.ts'
import type { Claim } from '#lib/db/claim.ts'
import { Prisma } from '#lib/db/client.ts'

interface Report {
  states: Map<string, ChargeState>
  /** Whether the charge had expired before the bank was asked: only then does `open` end it. */
  isTimeUp: (claim: Claim) => boolean
}

/** Settles, closes or postpones claimed charges about which the bank was asked. */
export async function endClaimedAsReported(
  gateway: Gateway,
  due: Claim[],
  { states, isTimeUp }: Report,
): Promise<void> {
  const open: Claim[] = []
  const ended = { paid: [] as PaidClaim[], failed: [] as Claim[], expired: [] as Claim[] }
  for (const claim of due) {
    const chargeState: ChargeState = states.get(removeHyphens(claim.id)) ?? { state: 'open' }
    if (chargeState.state === 'paid') ended.paid.push({ ...claim, ...chargeState })
    else if (chargeState.state === 'open') open.push(claim)
    else ended[chargeState.state === 'failed' ? 'failed' : 'expired'].push(claim)
  }
  const expire = (closings: Closing[]) =>
    closeCharges(closings, 'expired', gateway.local ? undefined : Prisma.sql`now()`)
  await endCharges(ended.paid, async paid => {
    const rows = await receivePayments(paid.map(claim => ({ ...claim, chargeId: claim.id })))
    // Without a payment of its amount, a charge stays as it is, and expires.
    open.push(...paid.filter((_, index) => rows[index] === null))
    return rows
  })
  await endCharges(ended.failed, claims => closeCharges(claims.map(toClosing), 'failed'))
  await endCharges(ended.expired, claims => expire(claims.map(toClosing)))
  const toExpiry = (claim: Claim) => ({ ...toClosing(claim), ifTimeUp: true })
  const processed = await endCharges(open.filter(isTimeUp), claims => expire(claims.map(toExpiry)))
  const waiting = open.filter(claim => !isTimeUp(claim))
  const nextAt = Prisma.sql`LEAST(c.expires_at, ${nextQueryAt(gateway.queryAgesMs)})`
  await postponeCharges([...processed, ...waiting], nextAt)
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

export function logFailure(error: unknown, { id }: Claim): void {
  log().error({ err: error, chargeId: id }, 'verifying a due charge failed')
}
