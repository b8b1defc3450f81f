import { runBatch, runConcurrently } from '#lib/base/db/batch.ts'
import { type Claim, postpone, withLease } from '#lib/base/db/claim.ts'
import { Prisma } from '#lib/base/db/client.ts'
import { removeHyphens } from '#lib/base/ids.ts'
import { log } from '#lib/base/log.ts'
import { MODES } from '#lib/base/mode.ts'
import { cancelOpening } from '#lib/rooms/charges/cancel.ts'
import { closeCharges } from '#lib/rooms/charges/close.ts'
import { inMs, nextAsk, postponeCharges } from '#lib/rooms/charges/postpone.ts'
import { settleInOrder } from '#lib/rooms/charges/settle.ts'
import type { gatewayOf } from '#lib/services/gateway/choose.ts'
import type { ChargeState, Gateway } from '#lib/services/gateway/gateway.ts'
import { withJournal } from '#lib/services/gateway/journal.ts'

const BATCH_MAX = 250
/** Maximum openings of a batch cancelled concurrently. */
const AT_ONCE = 8
/** Pause before retrying a bank that could not report the state of a charge. */
const ASK_AGAIN_MS = 15_000

/** Claims due charges, queries the bank and ends each as it reports. */
export function verifyDueCharges(choose: typeof gatewayOf): Promise<number> {
  return withLease('charges', BATCH_MAX, async due => {
    for (const mode of MODES) {
      const [opening, pending] = [true, false].map(isOpening =>
        due.filter(held => held.mode === mode && (held.status === 'opening') === isOpening),
      ) as [Claim[], Claim[]]
      if (pending.length > 0) await endAfterAsking(choose(mode), pending)
      await runConcurrently(opening, AT_ONCE, async held => {
        const gone = await cancelOpening(choose(mode), held).catch(error => tell(error, held))
        if (gone === false) await postpone('charges', held, ASK_AGAIN_MS)
      })
    }
  })
}

async function endAfterAsking(gateway: Gateway, due: Claim[]): Promise<void> {
  const known = await withJournal(gateway, due).getCharges(due.map(held => removeHyphens(held.id)))
  if (known.outcome !== 'ok') return postponeCharges(due, inMs(ASK_AGAIN_MS))
  const open: Claim[] = []
  const ended = { paid: [] as Paid[], failed: [] as Claim[], expired: [] as Claim[] }
  for (const held of due) {
    const said: ChargeState = known.value.get(removeHyphens(held.id)) ?? { state: 'open' }
    if (said.state === 'paid') ended.paid.push({ ...held, ...said })
    else if (said.state === 'open') open.push(held)
    else ended[said.state === 'failed' ? 'failed' : 'expired'].push(held)
  }
  await endEach(ended.paid, paid => settleInOrder(paid.map(one => ({ ...one, chargeId: one.id }))))
  await endEach(ended.failed, held => closeCharges(held.map(asClosing), 'failed'))
  await endEach(ended.expired, held => closeCharges(held.map(asClosing), 'expired'))
  const late = (held: Claim) => ({ ...asClosing(held), ifTimeUp: true })
  const judged = await endEach(open, held => closeCharges(held.map(late), 'expired'))
  await postponeCharges(judged, Prisma.sql`LEAST(c.expires_at, ${nextAsk(gateway.asksAfterMs)})`)
}

type Paid = Claim & Extract<ChargeState, { state: 'paid' }>

function asClosing({ accountId, id, lease }: Claim) {
  return { accountId, chargeId: id, lease }
}

/** Returns those that succeeded. One that fails holds its lease until it expires. */
async function endEach<Held extends Claim>(
  due: Held[],
  end: (due: Held[]) => Promise<unknown[]>,
): Promise<Held[]> {
  if (due.length === 0) return []
  const outcomes = await runBatch(due, end)
  const failed = outcomes.map((one, nth) => [one.ok ? null : one.error, due[nth] as Held] as const)
  for (const [error, held] of new Map(failed)) if (error) tell(error, held)
  return due.filter((_, nth) => outcomes[nth]?.ok)
}

function tell(error: unknown, { id }: Claim): void {
  log().error({ err: error, chargeId: id }, 'verifying a due charge failed')
}
