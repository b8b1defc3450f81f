import { setTimeout as sleep } from 'node:timers/promises'
import type { ChargeStep, PaymentKind, PayoutStep, RefundStep } from '#e2e/day/plan.ts'
import type { Merchant, Stage } from '#e2e/day/stage.ts'
import { waitFor } from '#e2e/day/time.ts'
import { CLOCK_MS } from '#e2e/day/weather.ts'
import type { PaymentOrder } from '#e2e/psp/commands.ts'
import { removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { CHARGE } from '#lib/testing/charge.ts'

/** Ids in successful responses to merchants, by the number of the step. */
export interface Acknowledged {
  charges: Map<number, string>
  payouts: Map<number, string>
  refunds: Map<number, string>
  /** Refunds that no merchant asked for: the bank had given the payment back by itself. */
  returned: Set<number>
}

/** A bank returns few payments in the moment in which a merchant spends them. */
const ATTEMPTS_MAX = 10

/** Programs of merchants, and the payers of their charges. */
export class Merchants {
  readonly acknowledged: Acknowledged = {
    charges: new Map(),
    payouts: new Map(),
    refunds: new Map(),
    returned: new Set(),
  }
  /** Payments that a payer's bank has made or refused. */
  payments = 0
  refused = 0
  readonly #spent = new Map<string, Promise<unknown>>()
  readonly #stage: Stage<unknown>

  constructor(stage: Stage<unknown>) {
    this.#stage = stage
  }

  async charge(step: ChargeStep): Promise<void> {
    const { number, amount, expiresInS } = step
    const body = { ...CHARGE, amount, client_name: `Payer ${number}`, expires_in: expiresInS }
    const { token } = this.#merchant(step)
    const { id } = await this.#stage.api.post('/transactions', token, `charge ${number}`, body)
    this.acknowledged.charges.set(number, id)
    if (step.payment) await this.#pay(step, step.payment, removeHyphens(id))
  }

  /** A payer's bank refuses to pay a charge that has expired or was removed. */
  async #pay({ number, amount }: ChargeStep, kind: PaymentKind, txid: string): Promise<void> {
    const [key = ''] = this.#stage.bank.keys
    const unknown = { txid: `${number}`.padStart(32, 'f') }
    // A bank whose clock was ahead lists them only when the true time is that late, and a paid charge is asked no more.
    const secondsAgo = CLOCK_MS / 1_000
    const orders: Record<PaymentKind, PaymentOrder> = {
      exact: { txid },
      'wrong amount': { txid, amount: amount + 1 },
      repeated: { txid, copies: 2, isForced: true, secondsAgo },
      'no txid': { txid, dropsTxid: true, secondsAgo },
      'unknown txid': { ...unknown, key, amount, isForced: true, secondsAgo },
    }
    const paid = await this.#stage.bank.run('pay', orders[kind]).catch(() => null)
    this.payments += paid?.length ?? 0
    if (!paid) this.refused += 1
  }

  async payOut(step: PayoutStep): Promise<void> {
    const { number, amount, key: pix_key } = step
    const merchant = this.#merchant(step)
    const body = { amount, pix_key, pix_key_type: 'email' }
    const id = await this.#spend(merchant, '/withdrawals', `payout ${number}`, body)
    this.acknowledged.payouts.set(number, id)
  }

  async refund({ number, charge, amount }: RefundStep): Promise<void> {
    let paid: { id: string; accountId: string; endToEndId: string | null } | null = null
    await waitFor(`refund ${number} of a paid charge`, async () => {
      const id = this.acknowledged.charges.get(charge)
      paid = id ? await db().charge.findFirst({ where: { id, status: 'paid' } }) : null
      return paid !== null
    })
    const { id = '', accountId = '', endToEndId = null } = paid ?? {}
    if (await this.#isReturned(endToEndId)) return void this.acknowledged.returned.add(number)
    const merchant = this.#stage.merchants.find(each => each.id === accountId) as Merchant
    const path = `/transactions/${id}/refunds`
    const refund = await this.#spend(merchant, path, `refund ${number}`, { amount })
    this.acknowledged.refunds.set(number, refund)
  }

  /** A bank that gives payments back does so soon after them. */
  async #isReturned(endToEndId: string | null): Promise<boolean> {
    const { payments } = await this.#stage.bank.run('readRecords')
    const payment = payments.find(({ e2eid }) => e2eid === endToEndId)
    return payment?.refunds.some(({ id, rtrId }) => id === rtrId) ?? false
  }

  /** A merchant spends one amount after the other, each when the balance covers it. */
  #spend(merchant: Merchant, path: string, key: string, body: { amount: number }): Promise<string> {
    const { id: accountId, token } = merchant
    const where = { accountId_mode_ledger: { accountId, mode: 'live', ledger: 'available' } }
    const spend = async (attempt = 1): Promise<string> => {
      await waitFor(`${key} to be covered`, async () => {
        const ledger = await db().ledgerAccount.findUnique({ where })
        return Number(ledger?.balance ?? 0) >= body.amount
      })
      const sent = this.#stage.api.post(path, token, `${key}, attempt ${attempt}`, body)
      return sent.then(
        ({ id }) => id,
        async error => {
          // The bank has meanwhile given a payment back.
          if (!String(error).includes('Insufficient balance') || attempt === ATTEMPTS_MAX)
            throw error
          await sleep(1_000)
          return spend(attempt + 1)
        },
      )
    }
    const spent = (this.#spent.get(accountId) ?? Promise.resolve()).then(() => spend())
    this.#spent.set(accountId, spent)
    return spent
  }

  #merchant({ account }: { account: number }): Merchant {
    return this.#stage.merchants[account] as Merchant
  }
}
