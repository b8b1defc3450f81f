/**
 * Pix for Vendure 3: a payment method, and the address for Troco's webhooks. Beside it lie the client of your server
 * (/docs/clients/troco.js) and your settings:
 *
 *   const pix = createTrocoPayments({ url, token, webhookSecret })
 *   paymentOptions: {
 *     paymentMethodHandlers: [pix.handler],
 *     process: [defaultPaymentProcess, pix.process],
 *     refundProcess: [defaultRefundProcess, pix.refundProcess],
 *   },
 *   apiOptions: { middleware: [pix.middleware] },          // receives webhooks at /hooks/troco
 *
 * The shop adds a payment with this method to an order in the state ArrangingPayment, shows `metadata.public.br_code`, and
 * the webhook settles it. One order has one open charge: with another total, or once the charge has expired, the next
 * payment ends the first and asks for all of it.
 */
import {
  LanguageCode,
  Logger,
  OrderService,
  Payment,
  PaymentMethodHandler,
  Refund,
  RequestContextService,
  TransactionalConnection,
} from '@vendure/core'
import { Troco, TrocoError } from './troco.js'

const CODE = 'troco-pix'
/** State of a payment whose code has been shown, and that nobody has paid yet. */
const AWAITING = 'AwaitingPix'
/** State of a refund that the bank has not confirmed yet. */
const REFUNDING = 'RefundingPix'
/** A webhook can be faster than Vendure, which stores a refund after Troco has accepted it. */
const FAST_MS = 60_000

/** @param {{ url: string, token: string | (() => string), webhookSecret: string | string[], route?: string }} options */
export function createTrocoPayments({ url, token, webhookSecret, route = '/hooks/troco' }) {
  const troco = new Troco({ url, token })
  let services

  const handler = new PaymentMethodHandler({
    code: CODE,
    description: [
      { languageCode: LanguageCode.en, value: 'Pix' },
      { languageCode: LanguageCode.pt_BR, value: 'Pix' },
    ],
    args: {},
    init(injector) {
      const get = service => injector.get(service)
      services = {
        orders: get(OrderService),
        contexts: get(RequestContextService),
        connection: get(TransactionalConnection),
      }
    },

    /**
     * The key is made of order, total and how many charges were ended: whatever is lost in between, all lead to one charge,
     * and a total that comes back leads to a new one.
     */
    async createPayment(ctx, order, rest, _args, { client_doc }) {
      const { customer } = order
      if (order.currencyCode !== 'BRL') return fail(rest, 'Pix needs an order in BRL')
      const open = order.payments?.filter(({ state }) => state === AWAITING) ?? []
      const amount = open.reduce((sum, payment) => sum + payment.amount, rest)
      if (amount === 0) return fail(rest, 'The order is paid')
      const ended = order.payments?.filter(({ state }) => state === 'Cancelled').length ?? 0
      for (const { id, transactionId } of open) {
        const { status } = await troco.charges.get(transactionId)
        if (rest === 0 && status === 'pending')
          return fail(rest, 'The order already waits for its payment')
        const { state } = await services.orders.cancelPayment(ctx, id)
        // Paid a moment ago: its webhook settles it, and the buyer pays only the rest.
        if (state !== 'Cancelled') return fail(rest, 'The charge was paid')
      }
      try {
        const reference = `${order.code}-${amount}-${ended + open.length}`
        const charge = await troco.charges.create(
          {
            amount,
            client_name: `${customer.firstName} ${customer.lastName}`,
            client_email: customer.emailAddress,
            client_doc,
            external_id: reference,
            metadata: { order: order.code },
          },
          { key: `vendure-${reference}` },
        )
        return {
          amount,
          state: AWAITING,
          transactionId: charge.transaction_id,
          metadata: { public: { br_code: charge.br_code } },
        }
      } catch (error) {
        return fail(amount, messageOf(error))
      }
    },

    /** Asks Troco itself: what a webhook says is a reason to look, not a proof of this amount. */
    async settlePayment(_ctx, _order, payment) {
      const charge = await troco.charges.get(payment.transactionId)
      if (charge.status === 'paid' && charge.amount === payment.amount) return { success: true }
      // Not the state Error, in which Vendure would take no payment any more.
      return { success: false, state: AWAITING, errorMessage: `The charge is ${charge.status}` }
    },

    /** A charge that expired needs no end. */
    async cancelPayment(_ctx, _order, { transactionId }) {
      const charge = await troco.charges.cancel(transactionId).catch(error => {
        if (error.code !== 'already_final') throw error
        return troco.charges.get(transactionId)
      })
      if (charge.status !== 'paid') return { success: true }
      return { success: false, state: AWAITING, errorMessage: 'The charge was paid' }
    },

    async createRefund(_ctx, { reason }, amount, _order, payment) {
      // One that the bank refused later counts, or the same request would bring it back.
      const done = payment.refunds?.filter(({ transactionId }) => transactionId).length ?? 0
      const key = `vendure-refund-${payment.transactionId}-${done}`
      try {
        const body = { amount, ...(reason && { reason }) }
        const refund = await troco.refunds.create(payment.transactionId, body, { key })
        return { state: REFUNDING, transactionId: refund.id }
      } catch (error) {
        return { state: 'Failed', metadata: { errorMessage: messageOf(error) } }
      }
    },
  })

  /** A webhook may come before the buyer is back, twice, or for an order that was cancelled meanwhile. */
  async function receive(request, response) {
    const event = await troco.webhooks.verify(request, webhookSecret).catch(() => null)
    if (!event) return response.status(400).end()
    const ctx = await services.contexts.create({ apiType: 'admin' })
    if (event.type === 'transaction.paid') await settle(ctx, event.transaction)
    const isRefund = ['transaction.refunded', 'transaction.refund_failed'].includes(event.type)
    // Troco sends it again after 5 s.
    if (isRefund && !(await endRefund(ctx, event))) return response.status(503).end()
    response.status(204).end()
  }

  async function settle(ctx, { id }) {
    const payments = services.connection.getRepository(ctx, Payment)
    const payment = await payments.findOne({
      where: { transactionId: id },
      relations: { order: true },
    })
    // A charge that another program of the account has made.
    if (!payment) return
    if (payment.order.state === 'Cancelled' || payment.state === 'Cancelled') {
      await giveBack(payment)
    } else if (payment.state === AWAITING) {
      const { errorCode, message } = await services.orders.settlePayment(ctx, payment.id)
      if (errorCode) throw new Error(`Payment ${payment.id} was not settled: ${message}`)
    }
  }

  /** The key counts the refunds before this one: one that the bank refused can be sent again. */
  async function giveBack({ transactionId, amount, order }) {
    let rest = amount
    let count = 0
    for await (const refund of troco.refunds.ofCharge(transactionId)) {
      if (refund.status !== 'rejected') rest -= refund.amount
      count++
    }
    if (rest === 0) return
    Logger.warn(`Charge ${transactionId} was paid too late: the buyer gets it back`, CODE)
    const body = { reason: `Order ${order.code} was cancelled` }
    const key = `vendure-late-${transactionId}-${count}`
    await troco.refunds.createFull(transactionId, body, { key })
  }

  /** Returns whether Vendure knows the refund, or never will: then another program has made it. */
  async function endRefund(ctx, { type, refund: { id }, created_at }) {
    const refunds = services.connection.getRepository(ctx, Refund)
    const refund = await refunds.findOne({ where: { transactionId: id } })
    if (!refund) {
      const isForeign = Date.now() - Date.parse(created_at) > FAST_MS
      if (isForeign && type === 'transaction.refund_failed')
        Logger.error(
          `The bank refused refund ${id}, unknown to Vendure: send it again in Troco`,
          CODE,
        )
      return isForeign
    }
    if (refund.state === 'Pending') return false
    if (refund.state !== REFUNDING) return true
    if (type === 'transaction.refunded')
      await services.orders.settleRefund(ctx, { id: refund.id, transactionId: id })
    else await services.orders.transitionRefundToState(ctx, refund.id, 'Failed', id)
    return true
  }

  const process = {
    transitions: {
      Created: { to: [AWAITING] },
      [AWAITING]: { to: [AWAITING, 'Settled', 'Cancelled', 'Error'] },
    },
  }
  const refundProcess = {
    transitions: {
      Pending: { to: [REFUNDING] },
      [REFUNDING]: { to: ['Settled', 'Failed'] },
    },
  }
  /** Troco sends again what was not taken, as while the database of the shop is away. */
  const handle = (request, response) =>
    receive(request, response).catch(error => {
      Logger.error(error.message, CODE, error.stack)
      response.status(503).end()
    })
  const middleware = { route, beforeListen: true, handler: handle }
  return { handler, process, refundProcess, middleware }
}

function fail(amount, errorMessage) {
  return { amount, state: 'Error', errorMessage }
}

function messageOf(error) {
  if (error instanceof TrocoError) return error.message
  throw error
}
