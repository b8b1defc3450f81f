import type {
  ChargeOrder,
  ChargeState,
  Gateway,
  GatewayResult,
  OpenedCharge,
  OrderState,
  PayoutOrder,
  RefundOrder,
} from '#lib/services/gateway/gateway.ts'
import { buildSimulatedCode } from '#lib/services/gateway/simulated-code.ts'
import { newEndToEndId } from '#lib/services/gateway/simulator.ts'

/** How a payout or refund call goes: whether the order arrives, and what the caller learns. */
export const SEND_FATES = [
  'taken',
  'lost before',
  'lost after',
  'arrives late',
  'down',
  'throws before',
  'throws after',
  'rejected',
] as const
export type SendFate = (typeof SEND_FATES)[number]
export const ASK_FATES = ['answered', 'lost', 'down', 'turned down', 'throws'] as const
export type AskFate = (typeof ASK_FATES)[number]

/** The course of an order: each call in turn, then its end. Anything omitted succeeds. */
export interface Fate {
  sends?: SendFate[]
  asks?: AskFate[]
  end?: 'done' | 'refused'
}

interface Order {
  amount: number
  settled: boolean
  proof: string
}

const LOST = { outcome: 'unknown', reason: 'the connection broke' } as const
const DOWN = { outcome: 'retryable', reason: 'down' } as const

/** A bank behind a faulty connection that follows a script. It executes an order once per id. */
export class StubBank implements Gateway {
  readonly name = 'stub bank'
  readonly remote = true
  asksAfterMs?: readonly number[]
  /** Whether the next query settles an accepted order, without `settle()`. */
  isQuick = false
  readonly sent: (PayoutOrder | RefundOrder)[] = []
  readonly asked: string[] = []
  readonly charges = new Map<string, ChargeState>()
  private readonly orders = new Map<string, Order>()
  private readonly refusedAtOnce = new Set<string>()
  /** Orders delayed in the network; they arrive with the next query about them. */
  private readonly late = new Map<string, PayoutOrder | RefundOrder>()
  private readonly fates = new Map<string, Fate>()
  private stalls: { when: 'before' | 'after'; work: () => Promise<unknown> } | null = null

  decide(id: string, fate: Fate): void {
    this.fates.set(id, { ...fate, sends: [...(fate.sends ?? [])], asks: [...(fate.asks ?? [])] })
  }

  heal(): void {
    for (const [id, { end }] of this.fates) this.fates.set(id, { end })
    this.stalls = null
  }

  /** Runs `work` before or after the bank handles the next call. */
  stall(when: 'before' | 'after', work: () => Promise<unknown>): void {
    this.stalls = { when, work }
  }

  settle(): void {
    for (const order of this.orders.values()) order.settled = true
  }

  /** Returns how many payouts or refunds were executed under this id. */
  debitsOf(id: string): number {
    return this.orders.has(id) && this.fates.get(id)?.end !== 'refused' ? 1 : 0
  }

  sendPayout(order: PayoutOrder): Promise<GatewayResult<OrderState>> {
    return this.send(order)
  }

  refundCharge(order: RefundOrder): Promise<GatewayResult<OrderState>> {
    return this.send(order)
  }

  getPayout(id: string): Promise<GatewayResult<OrderState | null>> {
    return this.ask(id)
  }

  getRefund(id: string): Promise<GatewayResult<OrderState | null>> {
    return this.ask(id)
  }

  async createCharge(order: ChargeOrder): Promise<GatewayResult<OpenedCharge>> {
    this.charges.set(order.txid, { state: 'open' })
    return { outcome: 'ok', value: { brCode: buildSimulatedCode(order) } }
  }

  async getCharges(txids: string[]): Promise<GatewayResult<Map<string, ChargeState>>> {
    this.asked.push(...txids)
    const known = txids.flatMap(txid => {
      const state = this.charges.get(txid)
      return state ? [[txid, state] as const] : []
    })
    const answer = { outcome: 'ok', value: new Map(known) } as const
    return (await this.onTheWay('before')) ?? (await this.onTheWay('after')) ?? answer
  }

  async cancelCharge(txid: string): Promise<GatewayResult<ChargeState>> {
    this.charges.delete(txid)
    return { outcome: 'ok', value: { state: 'cancelled' } }
  }

  async getBalance(): Promise<GatewayResult<null>> {
    return { outcome: 'ok', value: null }
  }

  async checkHealth(): Promise<GatewayResult<null>> {
    return { outcome: 'ok', value: null }
  }

  private async send(order: PayoutOrder | RefundOrder): Promise<GatewayResult<OrderState>> {
    const hijacked = await this.onTheWay('before')
    this.sent.push(order)
    const fate = this.fates.get(order.id)?.sends?.shift() ?? 'taken'
    const answer = this.take(order, fate)
    return hijacked ?? (await this.onTheWay('after')) ?? answer()
  }

  /** Rejects a duplicate id as if it refused the order, as strict banks do. */
  private take(order: PayoutOrder | RefundOrder, fate: SendFate) {
    const { id, amount } = order
    if (fate === 'arrives late') this.late.set(id, order)
    if (fate === 'lost before' || fate === 'arrives late') return () => LOST
    if (fate === 'down') return () => DOWN
    if (fate === 'throws before') return throwLost
    const isKnown = this.orders.has(id)
    if (isKnown || fate === 'rejected' || this.refusedAtOnce.has(id)) {
      if (!isKnown) this.refusedAtOnce.add(id)
      return () => ({ outcome: 'rejected', reason: isKnown ? 'Duplicate id' : 'No' }) as const
    }
    this.orders.set(id, { amount, settled: false, proof: newEndToEndId() })
    if (fate === 'lost after') return () => LOST
    if (fate === 'throws after') return throwLost
    return () => ({ outcome: 'ok', value: { state: 'taken' } }) as const
  }

  private async ask(id: string): Promise<GatewayResult<OrderState | null>> {
    const hijacked = await this.onTheWay('before')
    this.asked.push(id)
    const fate = this.fates.get(id)?.asks?.shift() ?? 'answered'
    const value = this.stateOf(id)
    const arrived = this.late.get(id)
    if (arrived) this.take(arrived, 'taken')
    this.late.delete(id)
    const instead = hijacked ?? (await this.onTheWay('after'))
    if (instead) return instead
    if (fate === 'lost') return LOST
    if (fate === 'down') return DOWN
    if (fate === 'turned down') return { outcome: 'rejected', reason: 'Not now' }
    return fate === 'throws' ? throwLost() : { outcome: 'ok', value }
  }

  private stateOf(id: string): OrderState | null {
    const order = this.orders.get(id)
    if (!order) return null
    if (this.isQuick) order.settled = true
    if (!order.settled) return { state: 'taken' }
    return this.fates.get(id)?.end === 'refused'
      ? { state: 'refused', reason: 'The account was closed' }
      : { state: 'done', endToEndId: order.proof }
  }

  private async onTheWay(when: 'before' | 'after'): Promise<GatewayResult<never> | undefined> {
    if (this.stalls?.when !== when) return undefined
    const { work } = this.stalls
    this.stalls = null
    return (await work()) as GatewayResult<never> | undefined
  }
}

function throwLost(): never {
  throw Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
}
