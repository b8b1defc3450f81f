import { newEndToEndId } from '#lib/banks/simulator.ts'
import { receivePayment } from '#lib/charges/receive.ts'
import { examineLedger, formatCount } from '../books.ts'
import { median } from '../measure.ts'
import { CHARGE, makeMerchant } from '../world.ts'
import { type WrittenCharge, writeCharges } from './charges.ts'
import { openReference } from './pgbench.ts'
import type { BenchEnvironment, Section } from './section.ts'

const CALLER_COUNT = 64
const RATIO_MIN = 3
const RATIO_AIM = 5
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
  const reference = await openReference(settings.DATABASE_OWNER_URL ?? '')
  await payAll(charges.splice(0, warmUp))
  const trocoRates: number[] = []
  const referenceRates: number[] = []
  for (let round = 0; round < rounds; round++) {
    trocoRates.push(await payAll(charges.splice(0, hotCharges)))
    referenceRates.push(await reference.run(pgbenchSeconds))
  }
  const ratio = median(trocoRates.map((rate, round) => rate / (referenceRates[round] ?? 0)))
  const { rows } = await pool.query(
    `SELECT balance::float8 AS balance FROM ledger_accounts
      WHERE account_id = $1 AND mode = 'test' AND ledger = 'available'`,
    [merchant.id],
  )
  return {
    title: 'Payments on one account',
    lines: [
      `Troco, ${CALLER_COUNT} concurrent payments in one process: ${formatRate(trocoRates)} (median of ${rounds} rounds of ${formatCount(hotCharges)})`,
      `updates of one balance row, 16 clients, ${reference.title}: ${formatRate(referenceRates)}`,
    ],
    verdicts: [
      {
        requirement: `one account: at least ${RATIO_MIN} times as many payments as PostgreSQL updates of one row (aim: ${RATIO_AIM} times)`,
        measured: `${ratio.toFixed(1)} times; aim ${ratio >= RATIO_AIM ? '' : 'not '}reached`,
        isMet: ratio >= RATIO_MIN,
      },
      {
        requirement: 'one account: the balance equals the sum of the payments',
        measured: `R$ ${formatCount(rows[0].balance / 100)}`,
        isMet: rows[0].balance === total * CHARGE.amount,
      },
      await examineLedger(),
    ],
  }
}

/** Returns payments per second. Each caller waits for its payment before it makes the next. */
async function payAll(charges: WrittenCharge[]): Promise<number> {
  const remaining = charges.values()
  const began = performance.now()
  const pay = async () => {
    for (const { accountId, id } of remaining) {
      const terms = { endToEndId: newEndToEndId(), amount: CHARGE.amount, paidAt: new Date() }
      const payments = [{ ...terms, txid: null }]
      const row = await receivePayment({ accountId, chargeId: id, payments })
      if (row?.status !== 'paid') throw new Error(`The charge ${id} could not be paid`)
    }
  }
  await Promise.all(Array.from({ length: CALLER_COUNT }, pay))
  return (charges.length * 1_000) / (performance.now() - began)
}

function formatRate(rates: number[]): string {
  return `${formatCount(Math.round(median(rates)))} per second`
}
