import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { bodyOf, isSuccess } from '#lib/banks/api-pix/reply.ts'
import { readBalance } from '#lib/banks/efi/read.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'

/** Age from which the balance is read again before a payout. */
const AGE_MAX_MS = 60_000
/** Time for the balance before a payout, which must have enough of its own. */
const READ_MAX_MS = 3_000

/** The amount of a payout of this process; null: the bank has not responded to it yet. */
interface Sent {
  amount: number
  endedAt: number | null
}

/**
 * Keeps payouts from being sent that the balance at the bank does not cover: the bank would accept and
 * later fail them, which is final for their withdrawals.
 */
export class Funds {
  private readonly client: BankClient
  private readonly now: () => number
  /** Balance as last read. `readAt`: when the question began. */
  private known: { balance: number; readAt: number } | null = null
  /** Payouts that the balance may not contain, because it was read before the bank responded to them. */
  private sent: Sent[] = []
  /** The reading on which payouts wait: a slower one must not undo what was sent meanwhile. */
  private reading: Promise<GatewayResult<unknown>> | null = null

  constructor(client: BankClient, now = () => performance.now()) {
    this.client = client
    this.now = now
  }

  async read(signal: AbortSignal): Promise<GatewayResult<{ available: number }>> {
    const readAt = this.now()
    const reply = await this.client.call({ method: 'GET', path: '/gn/saldo' }, signal)
    if (!isSuccess(reply)) return judgeQuestion(reply, 'no balance')
    const available = readBalance(bodyOf(reply))
    if (available === null) return unknown('no readable balance')
    this.remember(available, readAt)
    return { outcome: 'ok', value: { available } }
  }

  /** Calls `send` if the balance covers the amount, which counts as sent from then on. */
  async spend<Value>(
    amount: number,
    signal: AbortSignal,
    send: () => Promise<GatewayResult<Value>>,
  ): Promise<GatewayResult<Value>> {
    if (!this.isFresh() || this.countFree() < amount) {
      const obstacle = await this.readForPayout(signal)
      if (obstacle) return obstacle
    }
    if (this.countFree() < amount) return this.explainShortage(amount)
    const payout: Sent = { amount, endedAt: null }
    this.sent.push(payout)
    return send().finally(() => {
      payout.endedAt = this.now()
    })
  }

  private remember(balance: number, readAt: number): void {
    if (this.known && readAt < this.known.readAt) return
    this.known = { balance, readAt }
    this.sent = this.sent.filter(({ endedAt }) => endedAt === null || endedAt >= readAt)
  }

  private isFresh(): boolean {
    return this.known !== null && this.now() - this.known.readAt <= AGE_MAX_MS
  }

  private countFree(): number {
    const balance = this.known?.balance ?? 0
    return this.sent.reduce((left, { amount }) => left - amount, balance)
  }

  /** Returns what keeps the balance from being known. One reading serves all payouts that wait for it. */
  private async readForPayout(signal: AbortSignal): Promise<GatewayResult<never> | null> {
    this.reading ??= this.read(AbortSignal.timeout(READ_MAX_MS)).finally(() => {
      this.reading = null
    })
    const result = await Promise.race([this.reading, whenAborted(signal)])
    return result.outcome === 'ok' ? null : withoutEffect(result)
  }

  /** The balance, which was just read, may or may not contain payouts in progress. */
  private explainShortage(amount: number): GatewayResult<never> {
    const isUnsure = (this.known?.balance ?? 0) >= amount
    return isUnsure
      ? { outcome: 'retryable', reason: 'other payouts may leave too little', isAnswered: true }
      : { outcome: 'blocked', code: 'balance', reason: 'the balance does not cover a payout' }
  }
}

function whenAborted(signal: AbortSignal): Promise<GatewayResult<never>> {
  const { promise, resolve } = Promise.withResolvers<GatewayResult<never>>()
  const abort = () => resolve(unknown('no balance in time'))
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return promise
}

/** Whatever came of the question, the payout was not sent. */
function withoutEffect(result: GatewayResult<never>): GatewayResult<never> {
  if (result.outcome === 'unknown') return { outcome: 'retryable', reason: result.reason }
  if (result.outcome !== 'rejected') return result
  return { outcome: 'blocked', code: 'other', reason: result.bankText ?? 'no balance' }
}
