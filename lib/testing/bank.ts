import type {
  ChargeAnswers,
  ChargeState,
  ChargeTerms,
  Gateway,
  GatewayResult,
  Listing,
  OpenedCharge,
  OrderState,
  Party,
  PayoutOrder,
  ReceivedPayment,
  RefundOrder,
  SentPayout,
} from '#lib/banks/gateway.ts'
import { type BankRefusal, spiRefusal } from '#lib/banks/gateway.ts'
import { buildSimulatedCode, newEndToEndId } from '#lib/banks/simulator.ts'

/** Outcomes of a payout or refund call: whether the bank receives the order, and its response. */
export const SEND_BEHAVIORS = [
  'taken',
  'lost before',
  'lost after',
  'arrives late',
  'down',
  'busy',
  'blocked',
  'throws before',
  'throws after',
  'rejected',
] as const
export type SendBehavior = (typeof SEND_BEHAVIORS)[number]
export const QUERY_BEHAVIORS = [
  'answered',
  'lost',
  'down',
  'busy',
  'blocked',
  'turned down',
  'throws',
  'forgotten',
] as const
export type QueryBehavior = (typeof QUERY_BEHAVIORS)[number]

/**
 * Behavior for one order: of each send and each query in turn, then its final state. Everything
 * omitted succeeds.
 */
export interface OrderScript {
  sends?: SendBehavior[]
  queries?: QueryBehavior[]
  end?: 'done' | 'refused'
}

type RefundKey = Pick<RefundOrder, 'id' | 'endToEndId'>

interface Order {
  amount: number
  /** End-to-end id of the payment that a refund returns. */
  refundOf: string | null
  isSettled: boolean
  endToEndId: string
}

/** What a bank refuses, with a text that merchants never see. */
export const REFUSAL: BankRefusal = {
  code: 'unspecified',
  params: {},
  bankText: 'Chave recusada pelo DICT 0x17',
}

const LOST_RESULT = { outcome: 'unknown', reason: 'the connection broke' } as const
const WITHOUT_EFFECT = {
  down: { outcome: 'retryable', reason: 'down' },
  busy: { outcome: 'retryable', reason: 'busy', retryAfterMs: 90_000, isRateLimit: true },
  blocked: { outcome: 'blocked', code: 'scope', reason: 'insufficient_scope: pix.send' },
} as const

/** A scripted bank behind a faulty connection. Executes an order once per id. */
export class StubBank implements Gateway {
  readonly name = 'stub bank'
  /** By default the connection never rests, so that scripts with failures run to their end. */
  failuresMax = Number.POSITIVE_INFINITY
  /** By default more payouts than a test sends may be in flight. */
  payoutsInFlight = 100
  queryAgesMs?: readonly number[]
  /** Maximum charges that one query reaches. */
  answersMax = Number.POSITIVE_INFINITY
  /** Pause that the bank wants before a query about the other charges. */
  answersRetryAfterMs?: number
  /** Whether an accepted order has its end-to-end id at once. */
  isIdKnownEarly = false
  /** What the bank received and sent, in the order of its lists. */
  readonly payments: ReceivedPayment[] = []
  readonly sentPayouts: SentPayout[] = []
  /** Maximum items on a page of a list. */
  pageMax = 2
  /** The receiver that the bank names for every payout. */
  payee?: Party
  /** Document of the owner of every key; unset: of whomever an order names. */
  ownerDoc?: string
  /** By default the bank reports no balance. */
  getBalance?: NonNullable<Gateway['getBalance']>
  /** Whether the next query settles an accepted order, without `settle()`. */
  isQuick = false
  readonly sentOrders: (PayoutOrder | RefundOrder)[] = []
  readonly queriedIds: string[] = []
  readonly charges = new Map<string, ChargeState>()
  readonly cancelledIds: string[] = []
  /** Behaviors of the next cancellations in turn; all later ones are answered. */
  readonly cancelBehaviors: ('lost' | 'blocked' | 'turned down' | 'answered')[] = []
  private readonly orders = new Map<string, Order>()
  private readonly rejectedIds = new Set<string>()
  /** Orders delayed in the network; the next query for the id delivers them. */
  private readonly delayedOrders = new Map<string, PayoutOrder | RefundOrder>()
  private readonly scripts = new Map<string, OrderScript>()
  private isHanging = false
  private nextStall: { when: 'before' | 'after'; work: () => Promise<unknown> } | null = null

  setScript(id: string, script: OrderScript): void {
    this.scripts.set(id, {
      ...script,
      sends: [...(script.sends ?? [])],
      queries: [...(script.queries ?? [])],
    })
  }

  /** From now on a call responds only when its signal is aborted. */
  hang(): void {
    this.isHanging = true
  }

  heal(): void {
    this.isHanging = false
    for (const [id, { end }] of this.scripts) this.scripts.set(id, { end })
    this.nextStall = null
  }

  /** Runs `work` before or after the bank handles the next call. */
  stall(when: 'before' | 'after', work: () => Promise<unknown>): void {
    this.nextStall = { when, work }
  }

  settle(): void {
    for (const order of this.orders.values()) order.isSettled = true
  }

  /** Makes the bank report another payment for an order, as no bank should. */
  replaceEndToEndId(id: string, endToEndId: string): void {
    const order = this.orders.get(id)
    if (order) order.endToEndId = endToEndId
  }

  /** Returns the number of payouts or refunds executed for this id. */
  countDebits(id: string): number {
    return this.orders.has(id) && this.scripts.get(id)?.end !== 'refused' ? 1 : 0
  }

  async sendPayout(order: PayoutOrder, signal?: AbortSignal): Promise<GatewayResult<OrderState>> {
    await this.reach(signal)
    const isStranger = this.ownerDoc !== undefined && this.ownerDoc !== order.ownerDoc
    return isStranger && order.ownerDoc !== null
      ? { outcome: 'rejected', ...spiRefusal('BE01', 'Titular divergente') }
      : this.sendOrder(order)
  }

  async refundCharge(order: RefundOrder, signal?: AbortSignal): Promise<GatewayResult<OrderState>> {
    await this.reach(signal)
    return this.sendOrder(order)
  }

  async getPayout(
    { id }: Pick<PayoutOrder, 'id'>,
    signal?: AbortSignal,
  ): Promise<GatewayResult<OrderState | null>> {
    await this.reach(signal)
    return this.queryOrder(id)
  }

  /** Finds a refund only below its payment, as banks do. */
  async getRefund(
    refund: RefundKey,
    signal?: AbortSignal,
  ): Promise<GatewayResult<OrderState | null>> {
    await this.reach(signal)
    const result = await this.queryOrder(refund.id)
    const order = this.orders.get(refund.id)
    const isElsewhere = order && order.refundOf !== refund.endToEndId
    return result.outcome === 'ok' && isElsewhere ? { outcome: 'ok', value: null } : result
  }

  async createCharge(
    order: ChargeTerms,
    signal?: AbortSignal,
  ): Promise<GatewayResult<OpenedCharge>> {
    await this.reach(signal)
    if (!this.charges.has(order.txid)) this.charges.set(order.txid, { state: 'open' })
    return { outcome: 'ok', value: { brCode: buildSimulatedCode(order) } }
  }

  async getCharges(txids: string[], signal?: AbortSignal): Promise<GatewayResult<ChargeAnswers>> {
    await this.reach(signal)
    const reached = txids.slice(0, this.answersMax)
    this.queriedIds.push(...reached)
    const known = reached.flatMap(txid => {
      const state = this.charges.get(txid)
      return state ? [[txid, state] as const] : []
    })
    const unanswered = txids.slice(this.answersMax)
    const value = { states: new Map(known), unanswered, retryAfterMs: this.answersRetryAfterMs }
    const result = { outcome: 'ok', value } as const
    return (await this.runStall('before')) ?? (await this.runStall('after')) ?? result
  }

  async cancelCharge(
    txid: string,
    signal?: AbortSignal,
  ): Promise<GatewayResult<ChargeState | null>> {
    await this.reach(signal)
    this.cancelledIds.push(txid)
    const chargeState = this.charges.get(txid) ?? null
    const behavior = this.cancelBehaviors.shift() ?? 'answered'
    if (behavior === 'lost') return LOST_RESULT
    if (isWithoutEffect(behavior)) return WITHOUT_EFFECT[behavior]
    if (behavior === 'turned down') return { outcome: 'rejected', ...REFUSAL }
    if (chargeState?.state === 'open') this.charges.set(txid, { state: 'cancelled' })
    return { outcome: 'ok', value: this.charges.get(txid) ?? null }
  }

  async checkPayout(): Promise<GatewayResult<null>> {
    return { outcome: 'ok', value: null }
  }

  async checkHealth(signal?: AbortSignal): Promise<GatewayResult<null>> {
    await this.reach(signal)
    return { outcome: 'ok', value: null }
  }

  async registerWebhook(_address: string, signal?: AbortSignal): Promise<GatewayResult<null>> {
    await this.reach(signal)
    return { outcome: 'ok', value: null }
  }

  async listPayments(
    since: Date,
    cursor: string | null,
    signal?: AbortSignal,
  ): Promise<GatewayResult<Listing<ReceivedPayment>>> {
    await this.reach(signal)
    const value = this.listPage(this.payments, cursor, ({ paidAt }) => paidAt >= since)
    return { outcome: 'ok', value }
  }

  async getPayment(
    id: string,
    signal?: AbortSignal,
  ): Promise<GatewayResult<ReceivedPayment | null>> {
    await this.reach(signal)
    const value = this.payments.find(({ endToEndId }) => endToEndId === id) ?? null
    return { outcome: 'ok', value }
  }

  async listSentPayouts(
    since: Date,
    cursor: string | null,
    signal?: AbortSignal,
  ): Promise<GatewayResult<Listing<SentPayout>>> {
    await this.reach(signal)
    const value = this.listPage(this.sentPayouts, cursor, ({ sentAt }) => sentAt >= since)
    return { outcome: 'ok', value }
  }

  private async reach(signal: AbortSignal | undefined): Promise<void> {
    if (!this.isHanging) return
    await new Promise(resolve => signal?.addEventListener('abort', resolve))
    throwLost()
  }

  private listPage<Item>(
    list: Item[],
    cursor: string | null,
    isListed: (item: Item) => boolean,
  ): Listing<Item> {
    const from = Number(cursor ?? 0)
    const end = from + this.pageMax
    return {
      items: list.slice(from, end).filter(isListed),
      nextCursor: end < list.length ? String(end) : null,
    }
  }

  private async sendOrder(order: PayoutOrder | RefundOrder): Promise<GatewayResult<OrderState>> {
    const replacement = await this.runStall('before')
    this.sentOrders.push(order)
    const behavior = this.scripts.get(order.id)?.sends?.shift() ?? 'taken'
    const buildResult = this.acceptOrder(order, behavior)
    return replacement ?? (await this.runStall('after')) ?? buildResult()
  }

  /** Rejects a duplicate id with the same outcome as a refused order, as strict banks do. */
  private acceptOrder(order: PayoutOrder | RefundOrder, behavior: SendBehavior) {
    const { id, amount } = order
    if (behavior === 'arrives late') this.delayedOrders.set(id, order)
    if (behavior === 'lost before' || behavior === 'arrives late') return () => LOST_RESULT
    if (isWithoutEffect(behavior)) return () => WITHOUT_EFFECT[behavior]
    if (behavior === 'throws before') return throwLost
    const isKnown = this.orders.has(id)
    if (isKnown || behavior === 'rejected' || this.rejectedIds.has(id)) {
      if (!isKnown) this.rejectedIds.add(id)
      return () => ({ outcome: 'rejected', ...REFUSAL }) as const
    }
    const refundOf = 'endToEndId' in order ? order.endToEndId : null
    this.orders.set(id, { amount, refundOf, isSettled: false, endToEndId: newEndToEndId() })
    if (behavior === 'lost after') return () => LOST_RESULT
    if (behavior === 'throws after') return throwLost
    const value = this.stateTaken(id)
    return () => ({ outcome: 'ok', value }) as const
  }

  private async queryOrder(id: string): Promise<GatewayResult<OrderState | null>> {
    const replacement = await this.runStall('before')
    this.queriedIds.push(id)
    const behavior = this.scripts.get(id)?.queries?.shift() ?? 'answered'
    const value = this.stateOf(id)
    const arrived = this.delayedOrders.get(id)
    if (arrived) this.acceptOrder(arrived, 'taken')
    this.delayedOrders.delete(id)
    const lateReplacement = replacement ?? (await this.runStall('after'))
    if (lateReplacement) return lateReplacement
    if (behavior === 'lost') return LOST_RESULT
    if (isWithoutEffect(behavior)) return WITHOUT_EFFECT[behavior]
    if (behavior === 'turned down') return { outcome: 'rejected', ...REFUSAL }
    if (behavior === 'forgotten') return { outcome: 'ok', value: null }
    return behavior === 'throws' ? throwLost() : { outcome: 'ok', value }
  }

  private stateOf(id: string): OrderState | null {
    const order = this.orders.get(id)
    if (!order) return null
    if (this.isQuick) order.isSettled = true
    if (!order.isSettled) return this.stateTaken(id)
    const { endToEndId } = order
    return this.scripts.get(id)?.end === 'refused'
      ? { state: 'refused', ...spiRefusal('AC07', 'Conta encerrada') }
      : { state: 'done', endToEndId, ...(this.payee && { payee: this.payee }) }
  }

  private stateTaken(id: string): OrderState {
    const endToEndId = this.isIdKnownEarly ? this.orders.get(id)?.endToEndId : undefined
    return {
      state: 'taken',
      ...(endToEndId && { endToEndId }),
      ...(this.payee && { payee: this.payee }),
    }
  }

  private async runStall(when: 'before' | 'after'): Promise<GatewayResult<never> | undefined> {
    if (this.nextStall?.when !== when) return undefined
    const { work } = this.nextStall
    this.nextStall = null
    return (await work()) as GatewayResult<never> | undefined
  }
}

function isWithoutEffect(behavior: string): behavior is keyof typeof WITHOUT_EFFECT {
  return Object.hasOwn(WITHOUT_EFFECT, behavior)
}

function throwLost(): never {
  throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
}
