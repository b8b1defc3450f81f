import { describe, expect, test, vi } from 'vitest'
import type { GatewayResult, PayoutOrder } from '#lib/banks/gateway.ts'
import { decideCharge, simulator } from '#lib/banks/simulator.ts'
import { newId } from '#lib/core/ids.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { db } from '#lib/db/client.ts'

const END_TO_END_ID = /^E00000000\d{12}[0-9A-Za-z]{11}$/
const TAKEN = { outcome: 'ok', value: { state: 'taken' } }

function orderTo(dictKey: string, ownerDoc: string | null = null): PayoutOrder {
  return { id: newId(), amount: 5_000, dictKey, ownerDoc }
}

function expectOk<Value>(result: GatewayResult<Value>): Value {
  return result.outcome === 'ok' ? result.value : expect.unreachable()
}

function settleNow(id: string) {
  return db().simulatorOrder.update({ where: { id }, data: { settlesAt: new Date(0) } })
}

describe('a payout', () => {
  test('is accepted at once and settled after about a second', async () => {
    const order = orderTo('ana@example.com')
    expect(await simulator.sendPayout(order)).toEqual(TAKEN)
    expect(await simulator.getPayout(order)).toEqual(TAKEN)
    await vi.waitFor(
      async () =>
        expect(await simulator.getPayout(order)).toEqual({
          outcome: 'ok',
          value: { state: 'done', endToEndId: expect.stringMatching(END_TO_END_ID) },
        }),
      { timeout: 10_000, interval: 50 },
    )
    const [elapsed] = await db().$queryRaw<{ seconds: number }[]>`
      SELECT extract(epoch FROM now() - created_at)::float8 AS seconds FROM simulator_orders
      WHERE id = ${order.id}`
    expect(elapsed?.seconds).toBeGreaterThanOrEqual(1)
  })

  test('sent 20 times with one id is one payout, even with another amount or key', async () => {
    const order = orderTo('ana@example.com')
    const results = await Promise.all(Array.from({ length: 20 }, () => simulator.sendPayout(order)))
    expect(results).toHaveLength(20)
    // On a busy machine the payout settles while the last of them are sent.
    for (const result of results) expect(['taken', 'done']).toContain(expectOk(result).state)
    const first = await settleNow(order.id)
    const done = { outcome: 'ok', value: { state: 'done', endToEndId: first.endToEndId } }
    expect(await simulator.sendPayout({ ...order, amount: 9, dictKey: 'reject@b.co' })).toEqual(
      done,
    )
    expect(await simulator.getPayout(order)).toEqual(done)
    expect(first.amount).toBe(5_000n)
  })

  test('to reject@ is refused with a reason', async () => {
    const order = orderTo('reject@example.com')
    expect(await simulator.sendPayout(order)).toEqual(TAKEN)
    await settleNow(order.id)
    const refused = { state: 'refused', code: 'key_refused', params: {}, bankText: null }
    expect(await simulator.getPayout(order)).toEqual({ outcome: 'ok', value: refused })
  })

  test.each([
    ['stranger@example.com', '52998224725'],
    ['52998224725', '11144477735'],
    ['11222333000181', '52998224725'],
  ])('to %s is refused if it names another owner, and only then', async (key, ownerDoc) => {
    const [named, unnamed] = [orderTo(key, ownerDoc), orderTo(key)]
    for (const order of [named, unnamed]) {
      await simulator.sendPayout(order)
      await settleNow(order.id)
    }
    const refused = { state: 'refused', code: 'owner_differs', params: {}, bankText: null }
    expect(await simulator.getPayout(named)).toEqual({ outcome: 'ok', value: refused })
    expect(await simulator.getPayout(unnamed)).toMatchObject({ value: { state: 'done' } })
  })

  test('to hold@ never settles', async () => {
    const order = orderTo('hold@example.com')
    expect(await simulator.sendPayout(order)).toEqual(TAKEN)
    await settleNow(order.id)
    expect(await simulator.getPayout(order)).toEqual(TAKEN)
  })

  test('to unavailable@ is refused and not stored', async () => {
    const order = orderTo('unavailable@example.com')
    expect(await simulator.sendPayout(order)).toMatchObject({ outcome: 'retryable' })
    expect(await simulator.getPayout(order)).toEqual({ outcome: 'ok', value: null })
    expect(await db().simulatorOrder.count({ where: { id: order.id } })).toBe(0)
  })

  test('that was never sent is null, as is a refund queried as a payout', async () => {
    expect(await simulator.getPayout(orderTo('ana@example.com'))).toEqual({
      outcome: 'ok',
      value: null,
    })
    const refund = { id: newId(), endToEndId: 'E1', amount: 100 }
    expect(await simulator.refundCharge(refund)).toEqual(TAKEN)
    expect(await simulator.getPayout({ ...orderTo('ana@example.com'), id: refund.id })).toEqual({
      outcome: 'ok',
      value: null,
    })
    await settleNow(refund.id)
    expect(await simulator.getRefund(refund)).toMatchObject({ value: { state: 'done' } })
  })
})

describe('a charge', () => {
  const order = {
    txid: newId().replaceAll('-', ''),
    amount: 1_500,
    expiresInSeconds: 600,
    merchantName: 'Padaria',
    merchantCity: 'São Paulo',
    payerName: 'Ana',
    payerEmail: 'ana@example.com',
    payerDoc: '52998224725',
  }

  test('has the same code for the same order, and no code with unavailable@', async () => {
    const first = await simulator.createCharge(order)
    expect(await simulator.createCharge(order)).toEqual(first)
    const brCode = first.outcome === 'ok' ? first.value.brCode : ''
    expect(parseBrCode(brCode)).toMatchObject({ ok: true, code: { merchantCity: 'Sao Paulo' } })
    const down = { ...order, payerEmail: 'unavailable@example.com' }
    expect(await simulator.createCharge(down)).toMatchObject({ outcome: 'retryable' })
  })

  test('without a result is absent from the response of getCharges', async () => {
    const [paid, failed, unknown] = [newId(), newId(), newId()]
    await decideCharge(paid, 700, 'paid')
    await decideCharge(failed, 800, 'failed')
    const result = await simulator.getCharges([paid, failed, unknown])
    const states = result.outcome === 'ok' ? result.value.states : new Map()
    expect(states.size).toBe(2)
    const payment = { amount: 700, txid: paid, paidAt: expect.any(Date) }
    expect(states.get(paid)).toEqual({
      state: 'paid',
      payments: [{ ...payment, endToEndId: expect.stringMatching(END_TO_END_ID) }],
    })
    expect(states.get(failed)).toEqual({ state: 'failed' })
  })

  test('once paid keeps its state, end-to-end id and time', async () => {
    const txid = newId()
    const { state, isAccepted } = await decideCharge(txid, 700, 'paid')
    expect(isAccepted).toBe(true)
    for (const outcome of ['failed', 'expired', 'paid'] as const) {
      expect(await decideCharge(txid, 700, outcome)).toEqual({ state, isAccepted: false })
    }
  })

  test('once expired can only be paid', async () => {
    const txid = newId()
    const state = { state: 'expired' }
    expect(await decideCharge(txid, 700, 'expired')).toEqual({ state, isAccepted: true })
    for (const outcome of ['failed', 'expired'] as const) {
      expect(await decideCharge(txid, 700, outcome)).toEqual({ state, isAccepted: false })
    }
    expect(await decideCharge(txid, 700, 'paid')).toMatchObject({
      state: { state: 'paid' },
      isAccepted: true,
    })
  })
})
