import { settleCharge } from '#lib/rooms/charges/settle.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'
import { examineLedger, formatCount } from '../books.ts'
import { median } from '../measure.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { openReference } from './pgbench.ts'
import type { BenchEnvironment, Section } from './section.ts'

const CALLERS = 64
const RATIO_MIN = 1
const RATIO_AIM = 3
const WARM_UP_SHARE = 0.2

/** Compares payments to one account with plain updates of one row of the same shape. */
export async function measureHotAccount({
  settings,
  pool,
  options,
}: BenchEnvironment): Promise<Section> {
  const { hotCharges, rounds, pgbenchSeconds } = options
  const merchant = await makeMerchant('Loja Movimentada')
  const warmUp = Math.round(hotCharges * WARM_UP_SHARE)
  const total = warmUp + rounds * hotCharges
  const charges = await writeCharges(pool, { accountIds: [merchant.id], total })
  await pool.query('VACUUM ANALYZE')
  const reference = await openReference(settings.DATABASE_URL ?? '')
  await payAll(charges.splice(0, warmUp))
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < rounds; round++) {
    ours.push(await payAll(charges.splice(0, hotCharges)))
    theirs.push(await reference.run(pgbenchSeconds))
  }
  const ratio = median(ours.map((rate, round) => rate / (theirs[round] ?? 0)))
  const { rows } = await pool.query(
    `SELECT balance::float8 AS balance FROM ledger_accounts
      WHERE account_id = $1 AND mode = 'test' AND ledger = 'available'`,
    [merchant.id],
  )
  return {
    title: 'Payments on one account',
    lines: [
      `Troco, ${CALLERS} concurrent payments in one process: ${formatRate(ours)} (median of ${rounds} rounds of ${formatCount(hotCharges)})`,
      `updates of one balance row, 16 clients, ${reference.title}: ${formatRate(theirs)}`,
    ],
    verdicts: [
      {
        promise: `one account: at least as many payments as PostgreSQL updates of one row (aim: ${RATIO_AIM} times)`,
        figure: `${ratio.toFixed(1)} times; aim ${ratio >= RATIO_AIM ? '' : 'not '}reached`,
        holds: ratio >= RATIO_MIN,
      },
      {
        promise: 'one account: the balance equals the sum of the payments',
        figure: `R$ ${formatCount(rows[0].balance / 100)}`,
        holds: rows[0].balance === total * CHARGE.amount,
      },
      await examineLedger(),
    ],
  }
}

/** Returns payments per second. Each caller waits for its payment before it makes the next. */
async function payAll(charges: WrittenCharge[]): Promise<number> {
  const left = charges.values()
  const began = performance.now()
  const pay = async () => {
    for (const { accountId, id } of left) {
      const terms = { endToEndId: newEndToEndId(), paidAt: new Date() }
      const row = await settleCharge({ accountId, chargeId: id, ...terms })
      if (row?.status !== 'paid') throw new Error(`The charge ${id} could not be paid`)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, pay))
  return (charges.length * 1_000) / (performance.now() - began)
}

function formatRate(rates: number[]): string {
  return `${formatCount(Math.round(median(rates)))} per second`
}
