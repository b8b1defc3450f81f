import { expect, test } from 'vitest'
import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { Funds } from '#lib/banks/efi/funds.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import { isFailure } from '#lib/banks/judge-call.ts'

const SENT = { outcome: 'ok', value: 'sent' } as const
const signal = () => AbortSignal.timeout(10_000)

/** A balance whose questions are answered when the test says so. */
class Desk {
  readonly questions: ((saldo: string) => Promise<void>)[] = []
  sends = 0
  readonly funds: Funds
  at = 0

  constructor() {
    const call = () => {
      const { promise, resolve } = Promise.withResolvers<object>()
      this.questions.push(async saldo => {
        resolve({ kind: 'response', status: 200, body: { saldo } })
        for (let turns = 0; turns < 10; turns++) await Promise.resolve()
      })
      return promise
    }
    this.funds = new Funds({ call } as unknown as BankClient, () => this.at++)
  }

  /** Sends a payout that the bank takes at once, or when `until` ends. */
  pay(amount: number, until: Promise<unknown> = Promise.resolve()) {
    return this.funds.spend(amount, signal(), async (): Promise<GatewayResult<string>> => {
      this.sends++
      await until
      return SENT
    })
  }

  async answer(saldo: string): Promise<void> {
    await this.questions.shift()?.(saldo)
  }
}

test('payouts that begin together share one reading, and what it covers is sent', async () => {
  const desk = new Desk()
  const both = Promise.all([desk.pay(1_000), desk.pay(1_000)])
  expect(desk.questions).toHaveLength(1)
  await desk.answer('10.00')
  expect(await both).toMatchObject([SENT, { outcome: 'retryable' }])
  expect(desk.sends).toBe(1)
})

test('a reading that began before a payout was sent does not undo its amount', async () => {
  const desk = new Desk()
  const first = desk.pay(1_000)
  const slow = desk.funds.read(signal())
  await desk.answer('10.00')
  await first
  await desk.answer('10.00')
  await slow
  const second = desk.pay(1_000)
  expect(desk.questions).toHaveLength(1)
  await desk.answer('0.00')
  expect(await second).toMatchObject({ outcome: 'blocked', code: 'balance' })
  expect(desk.sends).toBe(1)
})

test('a payout without a response yet is taken off a balance that is read meanwhile', async () => {
  const desk = new Desk()
  const { promise, resolve } = Promise.withResolvers()
  const first = desk.pay(1_000, promise)
  await desk.answer('15.00')
  const second = desk.pay(1_000)
  await desk.answer('15.00')
  expect(await second).toMatchObject({ outcome: 'retryable' })
  resolve(null)
  await first
  const third = desk.pay(1_000)
  await desk.answer('20.00')
  expect(await third).toEqual(SENT)
  expect(desk.sends).toBe(2)
})

test('an older reading that ends late replaces no newer one', async () => {
  const desk = new Desk()
  const older = desk.funds.read(signal())
  const newer = desk.funds.read(signal())
  const [answerOlder, answerNewer] = desk.questions
  await answerNewer?.('5.00')
  await answerOlder?.('90.00')
  await Promise.all([older, newer])
  desk.questions.length = 0
  const payout = desk.pay(1_000)
  expect(desk.questions).toHaveLength(1)
  await desk.answer('5.00')
  expect(await payout).toMatchObject({ outcome: 'blocked' })
})

test('a payout whose time ends while the balance is read is not sent', async () => {
  const desk = new Desk()
  const stop = new AbortController()
  const payout = desk.funds.spend(1_000, stop.signal, () => expect.unreachable())
  stop.abort()
  expect(await payout).toMatchObject({ outcome: 'retryable' })
})

test('a payout that waits for others counts as no failure of the bank, and slows none down', async () => {
  const desk = new Desk()
  const both = Promise.all([desk.pay(1_000), desk.pay(1_000)])
  await desk.answer('10.00')
  const [, waiting] = await both
  expect(waiting).toMatchObject({ outcome: 'retryable' })
  expect(isFailure(waiting)).toBe(false)
  expect(waiting).not.toHaveProperty('isRateLimit')
})

test('a payout whose balance the bank does not report counts as a failure', async () => {
  const desk = new Desk()
  const payout = desk.pay(1_000)
  await desk.answer('unreadable')
  expect(isFailure(await payout)).toBe(true)
})
