import type { BankClient } from '#lib/services/gateway/api-pix/client.ts'
import { judge, unknown } from '#lib/services/gateway/api-pix/outcomes.ts'
import { bodyOf, isSuccess } from '#lib/services/gateway/api-pix/reply.ts'
import { readBalance } from '#lib/services/gateway/efi/read.ts'
import type { GatewayResult } from '#lib/services/gateway/gateway.ts'

/** Age from which the balance is read again before a payout. */
const AGE_MAX_MS = 60_000
/** Time for the balance before a payout, which must have enough of its own. */
const READ_MAX_MS = 3_000

/**
 * Keeps payouts from being sent that the balance at the bank does not cover: the bank would accept and
 * later fail them, which is final for their withdrawals.
 */
export class Funds {
  private readonly client: BankClient
  private readonly now: () => number
  /** Balance as last read, less what this process has sent since. */
  private known: { available: number; readAt: number } | null = null

  constructor(client: BankClient, now = () => performance.now()) {
    this.client = client
    this.now = now
  }

  async read(signal: AbortSignal): Promise<GatewayResult<{ available: number }>> {
    const readAt = this.now()
    const reply = await this.client.call({ method: 'GET', path: '/gn/saldo' }, signal)
    if (!isSuccess(reply)) {
      const verdict = judge(reply, 'question')
      return verdict.outcome === 'ask' || verdict.outcome === 'none'
        ? unknown('no balance')
        : verdict
    }
    const available = readBalance(bodyOf(reply))
    if (available === null) return unknown('no readable balance')
    this.known = { available, readAt }
    return { outcome: 'ok', value: { available } }
  }

  /** Returns null if the balance covers the amount, which then counts as sent; else the obstacle. */
  async cover(amount: number, signal: AbortSignal): Promise<GatewayResult<never> | null> {
    const isOld = !this.known || this.now() - this.known.readAt > AGE_MAX_MS
    if (isOld || (this.known?.available ?? 0) < amount) {
      const result = await this.read(AbortSignal.any([signal, AbortSignal.timeout(READ_MAX_MS)]))
      if (result.outcome !== 'ok') return withoutEffect(result)
    }
    if (!this.known || this.known.available < amount)
      return { outcome: 'blocked', code: 'balance', reason: 'the balance does not cover a payout' }
    this.known.available -= amount
    return null
  }
}

/** Whatever came of the question, the payout was not sent. */
function withoutEffect(result: GatewayResult<never>): GatewayResult<never> {
  if (result.outcome === 'unknown') return { outcome: 'retryable', reason: result.reason }
  if (result.outcome !== 'rejected') return result
  return { outcome: 'blocked', code: 'other', reason: result.bankText ?? 'no balance' }
}
