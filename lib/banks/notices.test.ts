import { expect, test } from 'vitest'
import type { GatewayNotification } from '#lib/banks/gateway.ts'
import { claimNotices, endNotices, storeNotices } from '#lib/banks/notices.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { hastenCharges } from '#lib/charges/read-payments.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { hastenOrders } from '#lib/orders/order.ts'
import { fundMerchant, inOwnDatabase, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { changeOrder, orderOf } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

const chargeNotice = (id: string): GatewayNotification => ({ kind: 'charge', id })
const list = (connectionId: string) => db().bankNotice.findMany({ where: { connectionId } })
const count = (connectionId: string) => db().bankNotice.count({ where: { connectionId } })

test('a thousand notices about one payment are one row, also at the same time', async () => {
  const connectionId = newId()
  const notices = [chargeNotice('a'), { kind: 'payment', id: 'E1' } as const]
  await Promise.all(Array.from({ length: 1_000 }, () => storeNotices(connectionId, notices)))
  expect(await list(connectionId)).toMatchObject([
    { kind: 'charge', id: 'a', attempts: 0 },
    { kind: 'payment', id: 'E1', attempts: 0 },
  ])
})

test('ids that no bank could mean are left out', async () => {
  const connectionId = newId()
  const ids = ['', ' ', 'a b', "'; --", 'é', '\0', 'x'.repeat(65), '../..']
  await storeNotices(connectionId, ids.map(chargeNotice))
  expect(await count(connectionId)).toBe(0)
})

test('a connection has at most 10,000 open notices, and takes no place of another', async () => {
  const [full, other] = [newId(), newId()]
  const many = Array.from({ length: 10_500 }, (_, index) => chargeNotice(`n${index}`))
  await storeNotices(full, many)
  await storeNotices(full, [chargeNotice('later')])
  await storeNotices(other, [chargeNotice('a')])
  expect([await count(full), await count(other)]).toEqual([10_000, 1])
})

test('a notice leads to four questions, 2, 8 and 60 s apart; a repeated one shortens only the pause', async () => {
  await db().bankNotice.deleteMany()
  const connectionId = newId()
  await storeNotices(connectionId, [chargeNotice('a')])
  const pauses: number[] = []
  const readPause = async () => {
    const [row] = await list(connectionId)
    return Math.round(((row?.dueAt.getTime() ?? 0) - (row?.askedAt?.getTime() ?? 0)) / 1_000)
  }
  for (let attempts = 1; attempts <= 4; attempts++) {
    expect(await claimNotices()).toEqual([{ connectionId, ...chargeNotice('a'), attempts }])
    expect(await claimNotices()).toEqual([])
    pauses.push(await readPause())
    await storeNotices(connectionId, [chargeNotice('a')])
    expect(await readPause()).toBe(2)
    await db().bankNotice.updateMany({ data: { dueAt: new Date(0) } })
  }
  expect(pauses).toEqual([2, 8, 60, 60])
  await endNotices(await claimNotices())
  expect(await count(connectionId)).toBe(0)
})

test('payments are looked for in lists together, 2 to 4 s later', async () => {
  const connectionId = newId()
  const before = Date.now()
  for (const id of ['E1', 'E2', 'E3']) await storeNotices(connectionId, [{ kind: 'payment', id }])
  for (const { dueAt } of await list(connectionId)) {
    expect(dueAt.getTime() % 2_000).toBe(0)
    expect(dueAt.getTime() - before).toBeGreaterThanOrEqual(1_900)
  }
})

test('a question is brought forward only for an open row of the connection that waits for one', async () => {
  const merchant = await makeMerchant()
  const { id } = await openCharge(merchant)
  const txid = removeHyphens(id)
  const read = () => db().charge.findFirstOrThrow({ where: { id } })
  const bring = (connectionId = SIMULATOR_CONNECTION_ID) =>
    hastenCharges(connectionId, [txid, removeHyphens(newId()), 'static', 'x'.repeat(32)])
  const later = new Date(Date.now() + 3_600_000)
  const set = (data: object) => db().charge.updateMany({ where: { id }, data })
  await set({ dueAt: later })
  expect(await bring(newId())).toEqual(new Set())
  await set({ lease: newId() })
  expect(await bring()).toEqual(new Set([txid]))
  expect((await read()).dueAt).toEqual(later)
  await set({ lease: null })
  expect(await bring()).toEqual(new Set([txid]))
  expect((await read()).dueAt?.getTime()).toBeLessThanOrEqual(Date.now())
  await set({ dueAt: null })
  expect(await bring()).toEqual(new Set())
})

test('an order that was never sent stays as it is, one that was sent is asked about', async () => {
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 5_000)
  const key = { pixKeyType: 'email', pixKey: 'a@b.co', dictKey: 'a@b.co' } as const
  const withdrawal = await createWithdrawal(merchant.id, 'test', { amount: 1_000, ...key })
  const dueAt = new Date(Date.now() + 3_600_000)
  await changeOrder(withdrawal.id, { dueAt })
  const id = removeHyphens(withdrawal.id)
  const bring = () => hastenOrders(SIMULATOR_CONNECTION_ID, [id])
  const read = () => orderOf(withdrawal.id)
  expect(await bring()).toEqual(new Set([id]))
  expect((await read()).dueAt).toEqual(dueAt)
  await changeOrder(withdrawal.id, { state: 'placed', slotUntil: dueAt })
  await bring()
  expect((await read()).dueAt?.getTime()).toBeLessThanOrEqual(Date.now())
})
