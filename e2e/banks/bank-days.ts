import { Client } from 'pg'
import { EfiAccount, PAYEE, signal } from '#e2e/banks/efi-account.ts'
import type { Account } from '#lib/accounts/schema.ts'
import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { matchPayments } from '#lib/charges/receive.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { acknowledgeItem, giveBack, takeUnmatched } from '#lib/operator/differences/differences.ts'
import { readItem } from '#lib/operator/differences/evidence.ts'
import {
  listReconciledDays,
  requestDays,
  shiftDay,
  startOf,
} from '#lib/operator/reconciliation/claim-day.ts'
import { createDayReconciler } from '#lib/operator/reconciliation/reconcile.ts'
import { assignConnection, endPause, endSlots, openLiveCharge } from '#lib/testing/connection.ts'
import { superuserUrlOf } from '#lib/testing/database.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'
import {
  makeOrdersDue,
  sendDueRefunds,
  sendDueReturns,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const HOUR_MS = 3_600_000
const REPORTS = '/v2/gn/relatorios/'

/** An account at the test bank whose past days are lived one by one, and a merchant with live mode. */
export class BankDays {
  readonly account: EfiAccount
  readonly merchant: Account
  readonly #superuser: Client

  private constructor(account: EfiAccount, merchant: Account, superuser: Client) {
    this.account = account
    this.merchant = merchant
    this.#superuser = superuser
  }

  /** `first`: the earliest day. The connection exists since it began. */
  static async open(first: string): Promise<BankDays> {
    const account = await EfiAccount.open({ reportQuestions: 0 })
    const merchant = await makeMerchant()
    await assignConnection(account.id, merchant)
    const createdAt = startOf(first)
    await db().connection.update({ where: { id: account.id }, data: { createdAt } })
    const superuser = new Client({ connectionString: superuserUrlOf() })
    await superuser.connect()
    await superuser.query('SET session_replication_role = replica')
    return new BankDays(account, merchant, superuser)
  }

  async close(): Promise<void> {
    await this.#superuser.end()
    await this.account.close()
  }

  /** Does work at a time of the bank; what it books is booked at `bookedAt`. */
  async at<Value>(time: Date, work: () => Promise<Value>, bookedAt = time): Promise<Value> {
    await this.account.bank.run('change', { clockOffsetMs: time.getTime() - Date.now() })
    const began = new Date(Date.now() - 1_000)
    const value = await work()
    await this.account.bank.run('change', { clockOffsetMs: 0 })
    await this.stamp(began, bookedAt)
    return value
  }

  /** Gives what was booked since another time of booking. */
  async stamp(since: Date, bookedAt: Date): Promise<void> {
    await this.#superuser.query(
      'UPDATE ledger_transfers SET created_at = $1 WHERE created_at > $2 AND created_at <> $1',
      [bookedAt, since],
    )
  }

  /** A payer pays a charge; returns what a list of the bank would have. */
  async pay(amount: number, copies = 1): Promise<{ id: string; payments: ReceivedPayment[] }> {
    const { id } = await openLiveCharge(this.merchant, amount)
    const txid = removeHyphens(id)
    const order = { txid, copies, isForced: copies > 1 }
    const paid = await this.account.bank.run('pay', order)
    const payments = paid.map(({ e2eid: endToEndId, at }) => ({
      endToEndId,
      amount,
      paidAt: new Date(at),
      txid,
    }))
    return { id, payments }
  }

  async receive(amount: number, copies = 1) {
    const paid = await this.pay(amount, copies)
    await matchPayments({ id: this.account.id, mode: 'live' }, paid.payments)
    return paid
  }

  /** Refunds a part of a charge, to the end. */
  async refund(chargeId: string, amount: number): Promise<void> {
    await createRefund(this.merchant.id, 'live', chargeId, { amount })
    for (let count = 0; count < 2; count++) {
      await sendDueRefunds()
      await this.account.settle()
      await makeOrdersDue({ slots: true })
    }
    await sendDueRefunds()
  }

  /** Pays out, to the end; returns the withdrawal. */
  async payOut(amount: number) {
    const { dictKey } = PAYEE
    const key = { pixKeyType: 'email', pixKey: dictKey, dictKey } as const
    const order = { amount, ...key, connectionId: this.account.id }
    const { id } = await createWithdrawal(this.merchant.id, 'live', order)
    for (let count = 0; count < 3; count++) {
      await sendDueWithdrawals()
      await this.account.settle()
      await endPause(this.account.id)
      await endSlots(this.account.id)
      await makeOrdersDue({ slots: true })
    }
    return db().withdrawal.findFirstOrThrow({ where: { id } })
  }

  /** A refund that other software of the operator makes. */
  async refundAlone(endToEndId: string, amount: number): Promise<void> {
    const order = { id: removeHyphens(newId()), endToEndId, amount }
    await this.account.gateway.refundCharge(order, signal())
    await this.account.settle()
  }

  /** Has the bank send the statement of a day with changes, the next time. */
  async changeStatement(day: string, change: (file: string) => string): Promise<void> {
    const read = await this.account.gateway.readStatement?.(day, null, signal())
    if (read?.outcome !== 'ok' || read.value.state !== 'making')
      throw new Error(`no statement of ${day}: ${JSON.stringify(read)}`)
    const { cursor } = read.value
    const { text } = await this.account.client.call('GET', REPORTS + cursor)
    const headers = { 'content-type': 'text/csv' }
    await this.account.fail({
      ...{
        kind: 'respond',
        method: 'GET',
        path: REPORTS + cursor,
        status: 200,
        body: change(text),
        headers,
      },
    })
  }

  /** Works as in the night after a day, or a later one, until no day is due. */
  async reconcileAfter(day: string, nights = 1): Promise<void> {
    const night = new Date(startOf(shiftDay(day, nights)).getTime() + 3.1 * HOUR_MS)
    await this.at(new Date(), () => this.#reconcile(night), night)
  }

  async #reconcile(now: Date): Promise<void> {
    const reconciler = createDayReconciler(() => now)
    while ((await reconciler.run()) > 0) await reconciler.idle()
  }

  /** Reads a day once more, as the command does. */
  async repeat(day: string, night: string): Promise<void> {
    const now = new Date(startOf(night).getTime() + 3.2 * HOUR_MS)
    await requestDays(this.account.id, { from: day, to: day }, now)
    await this.at(new Date(), () => this.#reconcile(now), now)
  }

  /** The state of a day and its open items, as `kind what`. */
  async judge(day: string) {
    const [line] = await listReconciledDays(this.account.id, { from: day, to: day })
    const items = line?.items.map(({ kind, facts }) => `${kind} ${facts.what ?? ''}`.trim()) ?? []
    return { state: line?.state, items: items.toSorted(), counts: line?.counts, flaw: line?.flaw }
  }

  /**
   * Settles the open items of a day as the pages suggest. Returns the cents by which the bank differs from
   * the books after it.
   */
  async settleItems(day: string): Promise<number> {
    const [line] = await listReconciledDays(this.account.id, { from: day, to: day })
    let amount = 0
    for (const { id, kind, facts } of line?.items ?? []) {
      const { bank, ours } = facts as Record<string, { amount: number } | null>
      if (kind.startsWith('day_')) amount += (bank?.amount ?? 0) - (ours?.amount ?? 0)
      await this.at(new Date(startOf(day).getTime() + 13 * HOUR_MS), () => this.#settle(id))
    }
    return amount
  }

  async #settle(itemId: string): Promise<void> {
    const { suggestion, evidence } = (await readItem(itemId)) ?? {}
    const decision = { itemId, reason: 'As suggested', actor: { type: 'command_line' } as const }
    if (suggestion?.entry === 'acknowledge') return acknowledgeItem(decision)
    if (suggestion?.entry !== 'give_back') throw new Error(`not expected: ${suggestion?.entry}`)
    const payment = `/v2/pix/${evidence?.bank.end_to_end_id}`
    const found = await this.account.client.call('GET', payment)
    // No bank returns what it does not have: the person keeps it.
    if (found.status !== 200) return takeUnmatched(decision)
    await giveBack(decision)
    for (let count = 0; count < 2; count++) {
      await sendDueReturns()
      await this.account.settle()
      await makeOrdersDue({ slots: true })
    }
    await sendDueReturns()
  }
}
