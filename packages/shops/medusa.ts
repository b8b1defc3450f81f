/**
 * Pix for Medusa 2: a payment provider. It lies in src/modules/troco beside the client of your server
 * (/docs/clients/troco.ts); in medusa-config.ts:
 *
 *   modules: [{
 *     resolve: '@medusajs/medusa/payment',
 *     options: {
 *       providers: [{ resolve: './src/modules/troco/medusa', id: 'pix', options: { url, token, webhookSecret } }],
 *     },
 *   }]
 *
 * Troco sends its webhooks to /hooks/payment/troco_pix. The storefront opens a payment session with
 * `data: { client_doc }`, for guests also `client_name` and `client_email`, and shows `data.br_code` of the session or
 * opens `data.payment_url`. One session has one open charge.
 */
import type {
  AuthorizePaymentInput,
  AuthorizePaymentOutput,
  BigNumberInput,
  CancelPaymentInput,
  CancelPaymentOutput,
  CapturePaymentInput,
  CapturePaymentOutput,
  DeletePaymentInput,
  DeletePaymentOutput,
  GetPaymentStatusInput,
  GetPaymentStatusOutput,
  InitiatePaymentInput,
  InitiatePaymentOutput,
  IPaymentProvider,
  Logger,
  PaymentProviderContext,
  PaymentSessionStatus,
  ProviderWebhookPayload,
  RefundPaymentInput,
  RefundPaymentOutput,
  RetrievePaymentInput,
  RetrievePaymentOutput,
  UpdatePaymentInput,
  UpdatePaymentOutput,
  WebhookActionResult,
} from '@medusajs/framework/types'
import { type Charge, Troco, TrocoError, verifyWebhook } from './troco'

export interface Settings {
  url: string
  token: string | (() => string)
  /** The endpoint's secret, `whsec_…`; several during a rotation. */
  webhookSecret: string | string[]
  /** Tells the charges of shops apart that share one account. */
  shop?: string
}

type Data = Record<string, unknown>

/** What Medusa's payment module hands to its providers. */
interface Container {
  logger: Pick<Logger, 'error' | 'warn'>
  paymentSessionService: {
    list: (filter: { id: string }, config: { relations: string[] }) => Promise<Session[]>
  }
}

interface Session {
  data: Data | null
  authorized_at: unknown
  payment_collection: { status: string; amount: BigNumberInput }
  payment?: { refunds: Iterable<{ amount: BigNumberInput }> } | null
}

const STATUSES: Record<Charge['status'], PaymentSessionStatus> = {
  // An order that is placed now waits for its payment.
  pending: 'pending_authorization',
  paid: 'captured',
  expired: 'canceled',
  failed: 'error',
}
/** Begins the reason of each refund that Medusa has asked for; the id of Medusa's refund follows. */
const BY_MEDUSA = 'Medusa '
const IGNORED: WebhookActionResult = { action: 'not_supported' }

export class TrocoPaymentProvider implements IPaymentProvider {
  static identifier = 'troco'
  readonly #container: Container
  readonly #settings: Settings
  readonly #troco: Troco
  readonly #shop: string

  static validateOptions(options: Partial<Settings>): void {
    for (const name of ['url', 'token', 'webhookSecret'] as const)
      if (!options[name]) throw new Error(`The payment provider troco needs the option ${name}`)
  }

  constructor(container: Container, settings: Settings) {
    this.#container = container
    this.#settings = settings
    this.#troco = new Troco(settings)
    this.#shop = settings.shop ?? 'medusa'
  }

  getIdentifier(): string {
    return TrocoPaymentProvider.identifier
  }

  async initiatePayment(input: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    return this.#open(input, { ...input.data, attempt: 0 }, input.context)
  }

  /** Another amount needs another charge, as does one that nobody paid in time. */
  async updatePayment(input: UpdatePaymentInput): Promise<UpdatePaymentOutput> {
    const data = input.data ?? {}
    const charge = await this.#read(data)
    if (charge.amount === toCents(input.amount)) {
      if (charge.status === 'pending') return { data, status: 'pending' }
      if (charge.status === 'paid' && (await this.#isAwaited(data.session_id, charge)))
        return { data, status: 'captured' }
    }
    await this.#end(data)
    return this.#open(input, { ...data, attempt: Number(data.attempt) + 1 }, input.context)
  }

  /** Medusa deletes the session of a cart whose total changed, or whose buyer chose another way to pay. */
  async deletePayment({ data = {} }: DeletePaymentInput): Promise<DeletePaymentOutput> {
    await this.#end(data)
    return { data }
  }

  /** Medusa itself refunds a payment that was captured. */
  async cancelPayment({ data = {} }: CancelPaymentInput): Promise<CancelPaymentOutput> {
    const { status } = await this.#cancel(data)
    if (status === 'paid') throw refusal('The charge was paid: refund it')
    return { data }
  }

  async authorizePayment({ data = {} }: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    const charge = await this.#read(data)
    const isLate = charge.status === 'paid' && !(await this.#isAwaited(data.session_id, charge))
    return { data, status: isLate ? 'canceled' : STATUSES[charge.status] }
  }

  async getPaymentStatus({ data = {} }: GetPaymentStatusInput): Promise<GetPaymentStatusOutput> {
    return { data, status: STATUSES[(await this.#read(data)).status] }
  }

  async retrievePayment({ data = {} }: RetrievePaymentInput): Promise<RetrievePaymentOutput> {
    return { data: { ...(await this.#read(data)) } }
  }

  /** A Pix is captured as it is paid. */
  async capturePayment({ data = {} }: CapturePaymentInput): Promise<CapturePaymentOutput> {
    const { status } = await this.#read(data)
    if (status !== 'paid') throw refusal(`The charge is ${status}`)
    return { data }
  }

  /**
   * Sends what Medusa counts as refunded, this refund included, and Troco has not refunded yet: Medusa forgets a refund
   * whose response was lost, and the next attempt must not refund again. The key counts the refunds before this one, so
   * that of two at once Troco takes one, and refuses the other with its different reason, which is sent again.
   */
  async refundPayment(input: RefundPaymentInput, attempts = 5): Promise<RefundPaymentOutput> {
    const data = input.data ?? {}
    const amount = toCents(input.amount)
    const id = String(data.transaction_id)
    const { refunds = [] } = (await this.#findSession(data.session_id))?.payment ?? {}
    let missing = 0
    for (const refund of refunds) missing += toCents(refund.amount)
    let count = 0
    for await (const refund of this.#troco.refunds.ofCharge(id)) {
      if (!refund.reason?.startsWith(BY_MEDUSA)) continue
      // One that the bank refused later counts, as it does in Medusa.
      missing -= refund.amount
      count++
    }
    if (missing === 0) return { data }
    if (missing < amount)
      throw refusal(
        `Of an attempt that seemed to fail, Troco has refunded R$ ${((amount - missing) / 100).toFixed(2)}: refund that amount first`,
      )
    const body = { amount, reason: `${BY_MEDUSA}${input.context?.idempotency_key}` }
    const key = `medusa-refund-${id}-${count}`
    try {
      await this.#troco.refunds.create(id, body, { key })
    } catch (error) {
      const isOvertaken = error instanceof TrocoError && error.code === 'idempotency_key_reused'
      if (!isOvertaken || attempts === 1) explain(error)
      return this.refundPayment(input, attempts - 1)
    }
    return { data }
  }

  /**
   * Medusa has responded with 200, and asks later what the webhook means: its queue may have held it for hours. The charge
   * is read again, so that an old webhook does no harm.
   */
  async getWebhookActionAndData({
    headers,
    rawData,
  }: ProviderWebhookPayload['payload']): Promise<WebhookActionResult> {
    const { logger } = this.#container
    const request = { headers: headers as Record<string, string>, body: rawData }
    const { webhookSecret } = this.#settings
    const event = await verifyWebhook(request, webhookSecret, Infinity).catch(error => {
      logger.warn(`Webhook of Troco refused: ${error.message}`)
      return null
    })
    if (event?.type === 'transaction.refund_failed')
      logger.error(
        `The bank refused refund ${event.refund.id} of charge ${event.transaction.id}: send it again in Troco`,
      )
    if (event?.type !== 'transaction.paid') return IGNORED
    const charge = await this.#troco.charges.get(event.transaction.id)
    if (charge.status !== 'paid' || charge.metadata?.shop !== this.#shop) return IGNORED
    const session_id = String(charge.metadata.session)
    if (await this.#isAwaited(session_id, charge))
      return { action: 'captured', data: { session_id, amount: charge.amount / 100 } }
    await this.#giveBack(charge)
    return IGNORED
  }

  /**
   * Whether an order or a cart waits for this payment, or has it: it was not cancelled, has no other charge, its total is
   * the one that was paid, and the buyer has got nothing of it back.
   */
  async #isAwaited(sessionId: unknown, charge: Charge): Promise<boolean> {
    const session = await this.#findSession(sessionId)
    if (session?.data?.transaction_id !== charge.id) return false
    const { status, amount } = session.payment_collection
    if (session.authorized_at) return true
    if (status === 'canceled' || toCents(amount) !== charge.amount) return false
    return (await this.#readRest(charge)).rest === charge.amount
  }

  async #findSession(id: unknown): Promise<Session | undefined> {
    const { paymentSessionService } = this.#container
    const filter = { id: String(id) }
    const [session] = await paymentSessionService.list(filter, {
      relations: ['payment_collection', 'payment.refunds'],
    })
    return session
  }

  /** The reference is also the key: whatever is lost in between, one attempt of a session has one charge. */
  async #open(
    { amount, currency_code }: { amount: BigNumberInput; currency_code: string },
    data: Data,
    context: PaymentProviderContext = {},
  ): Promise<InitiatePaymentOutput & { status: 'pending' }> {
    if (currency_code.toLowerCase() !== 'brl') throw refusal('Pix needs a cart in BRL')
    const { first_name, last_name, email } = context.customer ?? {}
    const name = data.client_name ?? [first_name, last_name].filter(Boolean).join(' ')
    const reference = data.attempt ? `${data.session_id}-${data.attempt}` : String(data.session_id)
    const body = {
      amount: toCents(amount),
      client_name: String(name),
      client_email: String(data.client_email ?? email ?? ''),
      client_doc: String(data.client_doc ?? ''),
      external_id: reference,
      metadata: { shop: this.#shop, session: data.session_id },
    }
    const { transaction_id } = await this.#troco.charges
      .create(body, { key: `medusa-${reference}` })
      .catch(explain)
    const { br_code, payment_url, expires_at } = await this.#read({ transaction_id })
    return {
      id: transaction_id,
      status: 'pending',
      data: { ...data, transaction_id, br_code, payment_url, expires_at },
    }
  }

  /**
   * Ends a charge so that nothing is owed to the buyer. A payment that Medusa has taken stays until Medusa refunds it: the
   * buyer of a paid order can open another session of it.
   */
  async #end(data: Data): Promise<void> {
    const charge = await this.#cancel(data)
    if (charge.status !== 'paid') return
    const session = await this.#findSession(data.session_id)
    if (session && !session.authorized_at) return this.#giveBack(charge)
    if ((await this.#readRest(charge)).rest > 0) throw refusal('The charge was paid')
  }

  /** Cancels the charge, which may have ended by itself. */
  async #cancel(data: Data): Promise<Charge> {
    return this.#troco.charges.cancel(String(data.transaction_id)).catch(error => {
      if (error.code !== 'already_final') throw error
      return this.#read(data)
    })
  }

  /** The key counts the refunds before this one: one that the bank refused can be sent again. */
  async #giveBack(charge: Charge): Promise<void> {
    const { rest, count } = await this.#readRest(charge)
    if (rest === 0) return
    this.#container.logger.warn(`Charge ${charge.id} was paid too late: the buyer gets it back`)
    const body = { reason: 'Paid after the order was cancelled' }
    const key = `medusa-late-${charge.id}-${count}`
    await this.#troco.refunds.createFull(charge.id, body, { key })
  }

  /** Cents that were not refunded, nor are about to be, and how many refunds there are. */
  async #readRest({ id, amount }: Charge): Promise<{ rest: number; count: number }> {
    let rest = amount
    let count = 0
    for await (const refund of this.#troco.refunds.ofCharge(id)) {
      if (refund.status !== 'rejected') rest -= refund.amount
      count++
    }
    return { rest, count }
  }

  #read(data: Data): Promise<Charge> {
    return this.#troco.charges.get(String(data.transaction_id))
  }
}

/** Cents of an amount of Medusa, which is in reais. */
function toCents(amount: BigNumberInput): number {
  const value = typeof amount === 'object' && 'value' in amount ? amount.value : amount
  return Math.round(Number(value) * 100)
}

/** Of other errors than those with a type of its own, Medusa hides the message. */
function refusal(message: string): Error {
  return Object.assign(new Error(message), { type: 'invalid_data' })
}

/** What the buyer or the shop's staff can mend, such as a CPF with a wrong digit. */
function explain(error: unknown): never {
  if (error instanceof TrocoError && error.status === 422) throw refusal(error.message)
  throw error
}

export default { module: 'payment', services: [TrocoPaymentProvider] }
