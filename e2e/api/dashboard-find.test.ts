import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { findHits, HitList } from '#lib/dashboard/find.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { LISTS } from '#lib/testing/lists.ts'
import { expectShape, pageHeaders, signIn } from '#lib/testing/member.ts'
import { makeWorld, resolvePath, type World } from '#lib/testing/world.ts'

let api: Api
let world: World
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api, 'acerola')
})
afterAll(() => api.close())

const search = (q: string) => findHits(world.merchant.id, 'test', q, true)
const read = async (path: string) =>
  (await call(api.url, 'GET', resolvePath(world, path), { token: world.token })).body.data

async function expectOnly(q: string, kind: string, href: string): Promise<void> {
  const exact = (await search(q)).filter(hit => hit.isExact)
  expect(exact.map(hit => [hit.kind, hit.href])).toEqual([[kind, href]])
}

describe('exactly one hit for', () => {
  test('a charge by id, reference, txid and BR Code', async () => {
    const { id, external_id, br_code } = await read('/transactions/[id]')
    for (const name of [id, id.toUpperCase(), ` ${id} `, external_id, removeHyphens(id), br_code]) {
      await expectOnly(name, 'charge', `/test/charges/${id}`)
    }
  })

  test('a payment by its end-to-end id', async () => {
    const paid = (await read('/transactions')).find((one: { id: string }) => one.id === world.paid)
    expect(paid.end_to_end_id).toHaveLength(32)
    await expectOnly(paid.end_to_end_id, 'charge', `/test/charges/${world.paid}`)
  })

  test('a withdrawal by id and reference', async () => {
    const { id, external_id } = await read('/withdrawals/[id]')
    for (const name of [id, external_id]) {
      await expectOnly(name, 'withdrawal', `/test/withdrawals/${id}`)
    }
  })

  test('a refund by id, linking to its charge', async () => {
    await expectOnly(world.refund, 'refund', `/test/charges/${world.paid}`)
  })

  test('a delivery by id, and an event without deliveries by id', async () => {
    await createPaidCharge(world.merchant, 'http://127.0.0.1:9/hook')
    const delivery = (await deliveriesOf(world.merchant)).at(-1)
    await expectOnly(delivery?.id ?? '', 'delivery', `/test/webhooks/deliveries/${delivery?.id}`)
    const event = await db().event.findFirstOrThrow({ where: { accountId: world.merchant.id } })
    const [hit] = await search(event.id)
    expect(hit).toMatchObject({ kind: 'event', label: event.type, isExact: true })
  })

  test('a token by its prefix, without revealing more than the list', async () => {
    const [hit] = await search(world.token.slice(0, 20))
    expect(hit).toMatchObject({ kind: 'token', status: 'active', href: '/test/settings/tokens' })
    expect(JSON.stringify(hit)).not.toContain(world.token.slice(0, 21))
  })
})

test('a payer is found by document in any notation, e-mail and part of the name', async () => {
  const { client_doc, client_email, id } = await read('/transactions/[id]')
  const digits = client_doc.replaceAll(/\D/g, '')
  const dotted = digits.replace(/(\d{3})(\d{3})(\d{3})(\d{2})/, '$1.$2.$3-$4')
  for (const text of [
    digits,
    dotted,
    client_email,
    client_email.toUpperCase(),
    'acer ana',
    digits.slice(0, 5),
  ]) {
    const hits = await search(text)
    expect(
      hits.map(hit => hit.id),
      text,
    ).toContain(id)
    expect(hits.length, text).toBeLessThanOrEqual(8)
  }
})

test('a withdrawal and a refund are found by amount and the end of their end-to-end id', async () => {
  const kindsOf = async (q: string) => (await search(q)).map(({ kind, id }) => `${kind} ${id}`)
  const withdrawal = await db().withdrawal.findFirstOrThrow({ where: { id: world.withdrawal } })
  const refund = await db().refund.findFirstOrThrow({ where: { id: world.refund } })
  for (const { id, amount, kind } of [
    { ...withdrawal, kind: 'withdrawal' },
    { ...refund, kind: 'refund' },
  ]) {
    const typed = `R$ ${(Number(amount) / 100).toFixed(2).replace('.', ',')}`
    expect(await kindsOf(typed)).toContain(`${kind} ${id}`)
  }
  const { payout } = world
  const { endToEndId } = await db().withdrawal.findFirstOrThrow({ where: { id: payout } })
  expect(await kindsOf(endToEndId?.slice(-20) ?? '')).toEqual([`withdrawal ${payout}`])
})

test('whether the document in a name is that of the payer shows only to who may read it', async () => {
  const merchant = await makeMerchant()
  await LISTS[0]?.insert(merchant.id, { clientName: 'Ana 52998224725', clientDoc: '52998224725' })
  await LISTS[0]?.insert(merchant.id, { clientName: 'Bia 52998224725', clientDoc: '11144477735' })
  const exactOf = async (readsPayers: boolean) =>
    (await findHits(merchant.id, 'test', '52998224725', readsPayers))
      .filter(hit => hit.isExact)
      .map(({ label }) => label)
  expect(await exactOf(true)).toEqual(['Ana 52998224725'])
  expect(await exactOf(false)).toEqual([])
})

test('nothing of another account or mode is found', async () => {
  const stranger = await makeMerchant()
  const { id, external_id, br_code, client_email } = await read('/transactions/[id]')
  const [delivery] = await deliveriesOf(world.merchant)
  const names = [id, external_id, br_code, client_email, world.withdrawal, world.refund]
  for (const name of [...names, world.token.slice(0, 20), delivery?.id ?? newId()]) {
    expect(await findHits(stranger.id, 'test', name, true), name).toEqual([])
    expect(await findHits(world.merchant.id, 'live', name, true), name).toEqual([])
  }
})

test('GET find returns its declared shape, 422 without a text, and 403 for a token', async () => {
  const headers = pageHeaders(await signIn(world.merchant, 'viewer'), world.merchant.id)
  const requestFind = (query: string) =>
    call(api.url, 'GET', `/dashboard/find${query}`, { headers })
  const { status, body } = await requestFind(`?q=${world.charge}`)
  expect(status).toBe(200)
  expectShape(HitList, body)
  expect((await requestFind('')).body).toEqual({ errors: { q: ['q is required'] } })
  expect((await requestFind(`?q=${'x'.repeat(601)}`)).status).toBe(422)
  const token = await makeToken(world.merchant.id)
  expect((await call(api.url, 'GET', '/dashboard/find?q=x', { token })).status).toBe(403)
})
