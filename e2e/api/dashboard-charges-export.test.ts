import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { closeCharges } from '#lib/charges/close.ts'
import { createCharge } from '#lib/charges/create.ts'
import { completeRefund, createRefund } from '#lib/charges/refunds/refund.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { EXPORT_END } from '#lib/dashboard/schema.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

let api: Api
let merchant: Account
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
})
afterAll(() => api.close())

const createTestCharge = (extra: object) =>
  createCharge(merchant, 'test', { ...CHARGE, ...extra }, null)
const callApi = (query: string, path = 'export') =>
  call(api.url, 'GET', `/dashboard/charges${path && '/'}${path}?${query}`, { headers })

async function readExport(query: string): Promise<string[]> {
  // text() would remove the BOM.
  const response = await fetch(`${api.url}/api/dashboard/charges/export?${query}`, { headers })
  expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  const text = Buffer.from(await response.arrayBuffer()).toString('utf8')
  const lines = text.split('\r\n')
  expect(lines.pop()).toBe(`${EXPORT_END}${lines.length - 1}`)
  expect(text.startsWith('\uFEFF')).toBe(true)
  return lines
}

test('a Portuguese export has semicolons, decimal commas, local times and masked documents', async () => {
  const created = new Date('2026-03-10T01:30:05Z')
  const { id } = await createTestCharge({
    client_name: 'João; "o" Sá',
    external_id: 'pedido 7',
    amount: 123_456,
  })
  const paid = await simulateCharge(merchant.id, id, 'paid')
  await db().charge.updateMany({ where: { id }, data: { createdAt: created } })
  const [head, line = ''] = await readExport('locale=pt-BR&external_id=pedido+7')
  expect(head).toContain(
    'Referência;Situação;Valor;Devolvido;Pagador;E-mail;CPF ou CNPJ;Criada em;',
  )
  expect(line).toContain('pedido 7;Paga;1234,56;0,00;"João; ""o"" Sá";ana@example.com;')
  expect(line).toMatch(/;(\*{3}|\*{2})\.[\d.*/-]+;09\/03\/2026 22:30:05;/)
  expect(line).toContain(`;${id}`)
  expect(paid).not.toBeNull()
})

test('a stored name with line breaks takes one line of the file', async () => {
  const { id } = await createTestCharge({ external_id: `breaks-${newId()}` })
  await db().charge.updateMany({ where: { id }, data: { clientName: 'Ana\r\nRocha\u2028Lima' } })
  const lines = await readExport('locale=en')
  expect(lines.filter(line => line.includes('Ana Rocha Lima'))).toHaveLength(1)
  expect(lines.join('')).not.toMatch(/[\r\n\u2028]/)
})

test('an English export has commas and decimal points', async () => {
  const [head, line = ''] = await readExport('locale=en&external_id=pedido+7')
  expect(head).toContain('Reference,Status,Amount,Refunded,Payer,E-mail,CPF or CNPJ,Created,')
  expect(line).toContain('pedido 7,Paid,1234.56,0.00,"João; ""o"" Sá",')
  expect(line).toContain(',2026-03-09 22:30:05,')
})

test.each(['=1+1', '+55 11', '-2', '@SUM(A1)', ' =1', '＝1'])(
  'a name that starts with %j is exported as text, not as a formula',
  async name => {
    const external_id = `f ${newId()} x`
    await createTestCharge({ client_name: `${name}x`, client_email: 'a@example.com', external_id })
    const [, line = ''] = await readExport(
      `locale=pt-BR&external_id=${encodeURIComponent(external_id)}`,
    )
    expect(line).toContain(`;'${name}x;a@`)
  },
)

test('a line break in a name ends neither its row nor the table', async () => {
  const external_id = `n ${newId()} x`
  await createTestCharge({ client_name: `Ana\r\n${EXPORT_END}9`, external_id })
  expect(await readExport(`locale=en&external_id=${encodeURIComponent(external_id)}`)).toHaveLength(
    2,
  )
})

test('the export has exactly the filtered charges, over several batches, newest first', async () => {
  const largeMerchant = await makeMerchant()
  const live = await addConnection(new StubBank())
  headers = pageHeaders(await signIn(largeMerchant, 'finance'), largeMerchant.id)
  await db().$executeRaw`
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
      client_name, client_email, client_doc, expires_at, connection_id)
    SELECT ${largeMerchant.id}::uuid, hex::uuid, CASE WHEN n % 5 = 0 THEN 'live' ELSE 'test' END, 'pending',
      500 + n, 'row ' || n, hex, 'x', 'Ana ' || n, 'ana@example.net', '11144477735', now(),
      CASE WHEN n % 5 = 0 THEN ${live} ELSE ${SIMULATOR_CONNECTION_ID} END::uuid
    FROM (SELECT n, '019a' || lpad(to_hex(n), 8, '0') || '7' || substr(md5(n::text), 1, 3) || '8'
      || substr(md5(n::text || ${largeMerchant.id}), 1, 15) AS hex FROM generate_series(1, 6250) n) made`
  const references = (lines: string[]) => lines.slice(1).map(line => line.split(',')[0])
  const all = Array.from({ length: 6_250 }, (_, index) => 6_250 - index).filter(n => n % 5 !== 0)
  expect(references(await readExport('locale=en'))).toEqual(all.map(n => `row ${n}`))
  const expensive = all.filter(n => n >= 4_000).map(n => `row ${n}`)
  expect(references(await readExport('locale=en&min_amount=4500'))).toEqual(expensive)
  expect(references(await readExport('locale=en&q=ana+62&status=pending'))).toEqual(
    all.filter(n => String(n).includes('62')).map(n => `row ${n}`),
  )
  const total = await callApi('min_amount=4500', 'totals')
  const amount = all.filter(n => n >= 4_000).reduce((sum, n) => sum + 500 + n, 0)
  expect(total.body).toEqual({ count: expensive.length, amount, paid_amount: 0, is_exact: true })
})

test('each charge is listed, counted and exported under one status, also when it is refunded or cancelled', async () => {
  const shop = await makeMerchant()
  headers = pageHeaders(await signIn(shop, 'finance'), shop.id)
  const ids: Record<string, string> = {}
  for (const [name, refunded] of [
    ['paid', 0],
    ['partly_refunded', 400],
    ['refunded', CHARGE.amount],
  ] as const) {
    const { id } = await createCharge(shop, 'test', { ...CHARGE, external_id: name }, null)
    ids[name] = id
    await simulateCharge(shop.id, id, 'paid')
    if (refunded === 0) continue
    const refund = await createRefund(shop.id, 'test', id, { amount: refunded })
    const settlement = { accountId: shop.id, refundId: refund.id }
    await completeRefund({ ...settlement, returnId: newId() })
  }
  for (const name of ['expired', 'cancelled']) {
    const { id } = await createCharge(shop, 'test', { ...CHARGE, external_id: name }, null)
    ids[name] = id
    if (name === 'cancelled') await cancelCharge({ accountId: shop.id, mode: 'test' }, id)
    else await closeCharges([{ accountId: shop.id, chargeId: id }], 'expired')
  }
  await expectBalancedLedger(shop.id)
  const amount = CHARGE.amount
  const { data } = (await callApi('', '')).body
  expect(data).toMatchObject([
    { id: ids.cancelled, status: 'expired', cancelled_at: expect.any(String) },
    { id: ids.expired, status: 'expired', cancelled_at: null },
    { id: ids.refunded, status: 'paid', amount, refunded_amount: amount },
    { id: ids.partly_refunded, status: 'paid', amount, refunded_amount: 400 },
    { id: ids.paid, status: 'paid', amount, refunded_amount: 0 },
  ])
  for (const [name, text] of [
    ['paid', 'Paga'],
    ['partly_refunded', 'Devolvida em parte'],
    ['refunded', 'Devolvida'],
    ['expired', 'Expirada'],
    ['cancelled', 'Cancelada'],
  ] as const) {
    for (const query of [`status=${name}`, `status=${name}&q=ana`, `status=${name}&min_amount=1`]) {
      const page = await callApi(query, '')
      expect(
        page.body.data.map((row: { id: string }) => row.id),
        query,
      ).toEqual([ids[name]])
      expect((await callApi(query, 'totals')).body, query).toMatchObject({ count: 1, amount })
    }
    const [, line, ...others] = await readExport(`locale=pt-BR&status=${name}`)
    expect(others).toEqual([])
    expect(line?.startsWith(`${name};${text};`), line).toBe(true)
  }
  const own = await call(api.url, 'GET', '/transactions?status=refunded', { headers })
  expect(own.status, 'the public API has the statuses of the specification').toBe(422)
})

test('an unknown language or invalid filter is 422 naming the field', async () => {
  for (const [query, field] of [
    ['', 'locale'],
    ['locale=fr', 'locale'],
    ['locale=en&status=open', 'status'],
    ['locale=en&min_amount=1,5', 'min_amount'],
    ['locale=en&max_amount=-1', 'max_amount'],
  ] as const) {
    const { status, body } = await callApi(query)
    expect([status, Object.keys(body.errors)], query).toEqual([422, [field]])
  }
})

test('an API token reads neither the export nor the totals', async () => {
  headers = { authorization: 'Bearer troco_test_x' }
  for (const path of ['export', 'totals']) {
    expect(refusal(await callApi('locale=en', path))[0]).toBe(401)
  }
})
