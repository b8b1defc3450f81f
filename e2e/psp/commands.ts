import type { Bank } from './bank.ts'
import { termsOf } from './charges.ts'
import { closeDispute, openDispute } from './disputes.ts'
import type { Fault } from './faults.ts'
import { toCents } from './formats.ts'
import { returnPayout, settlePayout } from './payouts.ts'
import { type Payment, receive } from './received.ts'
import type { Charge } from './records.ts'
import { returnByHabit, settleRefund, takeBack } from './refunds.ts'
import type { BankServer, Identity } from './server.ts'
import { changeSettings, type SettingsChange } from './settings.ts'

/** A payment by a payer's bank. Without key and amount, those of the charge. */
export interface PaymentOrder extends Partial<Payment> {
  /** The payer's bank drops the txid. */
  dropsTxid?: boolean
  /** Pays what a payer's bank would refuse: a charge that is paid, expired, removed or unknown. */
  isForced?: boolean
  /** Number of payments; more than one needs `isForced`. */
  copies?: number
}

export interface Stage {
  bank: Bank
  server: BankServer
}

/** Commands of a test to the bank. Arguments and results are JSON. */
export const COMMANDS = {
  async pay({ bank }: Stage, order: PaymentOrder) {
    const payments = []
    for (let copy = 0; copy < (order.copies ?? 1); copy += 1) payments.push(await pay(bank, order))
    return payments
  },

  /** Ends every payout and refund that is in process. */
  settle({ bank }: Stage) {
    for (const payout of bank.payouts.values()) settlePayout(bank, payout)
    for (const pix of bank.payments.values())
      for (const refund of pix.refunds) settleRefund(bank, pix, refund)
  },

  takeBack({ bank }: Stage, { e2eid, amount }: { e2eid: string; amount: number }) {
    const pix = bank.payments.get(e2eid) ?? fail('There is no such Pix')
    return takeBack(bank, pix, amount).id
  },

  returnPayout({ bank }: Stage, { idEnvio, amount }: { idEnvio: string; amount: number }) {
    returnPayout(bank, bank.payouts.get(idEnvio) ?? fail('There is no such payout'), amount)
  },

  /** Contests a payment; returns the id of the dispute. */
  openDispute({ bank }: Stage, { e2eid }: { e2eid: string }) {
    return openDispute(bank, bank.payments.get(e2eid) ?? fail('There is no such Pix')).id
  },

  closeDispute({ bank }: Stage, { id, isAccepted }: { id: string; isAccepted: boolean }) {
    closeDispute(bank, bank.disputes.get(id) ?? fail('There is no such dispute'), isAccepted)
  },

  change({ bank }: Stage, changes: SettingsChange) {
    changeSettings(bank.settings, changes)
  },

  addFault({ bank }: Stage, fault: Fault) {
    bank.faults.add(fault)
  },

  /** Number of faults that have requests left to meet. */
  countFaults({ bank }: Stage) {
    return bank.faults.pendingCount
  },

  /** Number of requests that the bank may still act on. */
  countOpen({ server }: Stage) {
    return server.openCount
  },

  clearFaults({ bank }: Stage) {
    bank.faults.clear()
  },

  revokeTokens({ bank }: Stage) {
    bank.tokens.revokeAll()
  },

  present({ server }: Stage, { shows = 'server', trusts = 'authority' }: Partial<Identity>) {
    server.present({ shows, trusts })
  },

  /** Sends any body to the webhook of a key. */
  sendNotice({ bank }: Stage, { key, body }: { key: string; body: string }) {
    bank.notices.send(bank.webhooks.get(key)?.url ?? fail('The key has no webhook'), body)
  },

  flushNotices({ bank }: Stage) {
    bank.notices.flush()
  },

  /** Waits until the first attempt of each notice has ended. */
  async waitForNotices({ bank }: Stage) {
    await bank.notices.idle()
  },

  readBook({ bank }: Stage) {
    return { balance: bank.book.balance, entries: bank.book.entries }
  },

  /** Everything that the bank stored, with amounts in cents. */
  readRecords({ bank }: Stage) {
    return {
      charges: [...bank.charges.values()].map(({ txid, status, payments }) => ({
        txid,
        status,
        e2eids: payments.map(({ e2eid }) => e2eid),
      })),
      payments: [...bank.payments.values()],
      payouts: [...bank.payouts.values()],
      webhooks: [...bank.webhooks.values()],
    }
  },

  /** Exchanges since the given number of them. */
  readTraffic({ bank }: Stage, { after = 0 }: { after?: number }) {
    return bank.traffic.exchanges.slice(after)
  },
}

async function pay(bank: Bank, order: PaymentOrder) {
  const charge = order.txid === undefined ? undefined : bank.charges.get(order.txid)
  if (!order.isForced) checkPayable(bank, order, charge)
  const terms = charge && termsOf(charge)
  const { payer, payerText, secondsAgo } = order
  const payment: Payment = {
    key: order.key ?? terms?.chave ?? fail('The payment needs a key'),
    amount: order.amount ?? toCents(terms?.valor.original ?? fail('The payment needs an amount')),
    txid: order.dropsTxid ? undefined : order.txid,
    payer,
    payerText,
    secondsAgo,
  }
  const pix = await receive(bank, payment, order.dropsTxid ? undefined : charge)
  returnByHabit(bank, pix)
  return pix
}

/** Refuses what the payer's bank or the account's settings would refuse. */
function checkPayable(bank: Bank, { txid, key, copies = 1 }: PaymentOrder, charge?: Charge): void {
  if (txid === undefined) {
    const wishes = bank.config.pix.chaves?.[key ?? '']?.recebimento
    if (wishes?.txidObrigatorio || wishes?.qrCodeEstatico.recusarTodos)
      fail('The account refuses payments without txid')
    return
  }
  if (!charge) fail('There is no charge with this txid')
  if (charge.status !== 'ATIVA' || copies > 1) fail(`The charge is ${charge.status}`)
  const { expiracao } = termsOf(charge).calendario
  if (bank.now().getTime() > charge.createdAt.getTime() + expiracao * 1000)
    fail('The charge has expired')
}

function fail(reason: string): never {
  throw new Error(reason)
}
