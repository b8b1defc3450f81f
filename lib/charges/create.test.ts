import { describe, expect, test } from 'vitest'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { isUuid, newId } from '#lib/core/ids.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { db } from '#lib/db/client.ts'
import { CHARGE, expectBalancedLedger, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

const FULL = {
  amount: 12_345,
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
  client_phone: '+55 11 91234-5678',
  webhook_url: 'https://shop.example.com/hooks?x=1',
  ip: '203.0.113.7',
  metadata: { order: 'A-1', nested: { list: [1, 2.5, null, 'ç'] } },
  utms: { utm_source: 'mail', zeta: '1', alpha: '2' },
  items: [{ name: 'Pão', price: '1,50', quantity: 3, sku: 'x' }],
  external_id: 'order A-1',
  expires_in: 3_600,
}

function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1_000
}

test('a charge is stored completely and as it was sent', async () => {
  const merchant = await makeMerchant()
  const created = await createCharge(merchant, 'test', FULL, '198.51.100.1')
  expect(created).toEqual({
    id: expect.toSatisfy(isUuid),
    br_code: expect.any(String),
    amount: 12_345,
    status: 'pending',
    metadata: FULL.metadata,
  })
  const { amount, expires_in, ...sent } = FULL
  const row = await findCharge(merchant.id, 'test', created.id)
  expect(row).toMatchObject({ ...sent, mode: 'test', status: 'pending', br_code: created.br_code })
  expect(Number(row?.amount)).toBe(amount)
  expect(row).toMatchObject({ paid_at: null, end_to_end_id: null, refunded_amount: 0 })
  expect(secondsBetween(row?.created_at ?? '', row?.expires_at ?? '')).toBe(expires_in)
  expect(row?.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  expect(Object.keys(row?.utms ?? {})).toEqual(['utm_source', 'zeta', 'alpha'])
  await expectBalancedLedger(merchant.id)
})

test("omitted fields are null, the client's address is stored, and the reference is the txid", async () => {
  const merchant = await makeMerchant()
  const { id } = await createCharge(merchant, 'test', CHARGE, '198.51.100.1')
  const row = await findCharge(merchant.id, 'test', id)
  expect(row).toMatchObject({
    external_id: id.replaceAll('-', ''),
    ip: '198.51.100.1',
    client_phone: null,
    webhook_url: null,
    metadata: null,
    utms: null,
    items: null,
  })
  expect(secondsBetween(row?.created_at ?? '', row?.expires_at ?? '')).toBe(86_400)
  await expectBalancedLedger(merchant.id)
})

test("without expires_in the account's default applies", async () => {
  const merchant = { ...(await makeMerchant()), expiresIn: 600 }
  const { id } = await openCharge(merchant)
  const row = await findCharge(merchant.id, 'test', id)
  expect(secondsBetween(row?.created_at ?? '', row?.expires_at ?? '')).toBe(600)
  await expectBalancedLedger(merchant.id)
})

test.each([500, 1_234, 10_000, AMOUNT_MAX])(
  'the BR Code of a charge of %i cents contains its amount and its own location',
  async amount => {
    const merchant = await makeMerchant('Café & Pão do João Conceição da Silva')
    const { id, br_code } = await openCharge(merchant, amount)
    expect(parseBrCode(br_code)).toEqual({
      ok: true,
      code: expect.objectContaining({
        kind: 'dynamic',
        location: `pix.example.test/qr/v2/${id.replaceAll('-', '')}`,
        amount,
        merchantName: 'Cafe & Pao do Joao Concei',
        merchantCity: 'BRASILIA',
        use: 'once',
      }),
    })
    await expectBalancedLedger(merchant.id)
  },
)

test('a merchant whose name has no printable ASCII gets a placeholder name in the BR Code', async () => {
  const merchant = await makeMerchant('喫茶店')
  const { br_code } = await openCharge(merchant)
  const reading = parseBrCode(br_code)
  expect(reading.ok && reading.code.merchantName).toBe('RECEBEDOR')
  await expectBalancedLedger(merchant.id)
})

describe('external_id', () => {
  test('an external_id in use is refused, and nothing is written', async () => {
    const merchant = await makeMerchant()
    const first = await createCharge(merchant, 'test', FULL, null)
    await expect(
      createCharge(merchant, 'test', { ...FULL, amount: 999 }, null),
    ).rejects.toMatchObject({ code: 'external_id_used', message: 'external_id already used' })
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(1)
    expect((await findCharge(merchant.id, 'test', FULL.external_id))?.id).toBe(first.id)
    await expectBalancedLedger(merchant.id)
  })

  test('of 20 concurrent charges with the same external_id one is created', async () => {
    const merchant = await makeMerchant()
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () => createCharge(merchant, 'test', FULL, null)),
    )
    const refusals = outcomes.flatMap(outcome =>
      outcome.status === 'rejected' ? [outcome.reason.code] : [],
    )
    expect(refusals).toEqual(Array(19).fill('external_id_used'))
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(1)
    await expectBalancedLedger(merchant.id)
  })

  test('merchants may use the same external_id', async () => {
    const [merchant, otherMerchant] = await Promise.all([makeMerchant(), makeMerchant()])
    const first = await createCharge(merchant, 'test', FULL, null)
    const second = await createCharge(otherMerchant, 'test', FULL, null)
    expect((await findCharge(merchant.id, 'test', FULL.external_id))?.id).toBe(first.id)
    expect((await findCharge(otherMerchant.id, 'test', FULL.external_id))?.id).toBe(second.id)
    expect(await findCharge(otherMerchant.id, 'test', first.id)).toBeNull()
    expect(await findCharge(merchant.id, 'live', first.id)).toBeNull()
    await expectBalancedLedger(merchant.id)
    await expectBalancedLedger(otherMerchant.id)
  })

  test('if the bank is unavailable nothing is written, and the external_id can be used again', async () => {
    const merchant = await makeMerchant()
    const request = { ...FULL, client_email: 'unavailable@example.com' }
    await expect(createCharge(merchant, 'test', request, null)).rejects.toMatchObject({
      code: 'service_unavailable',
    })
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(0)
    expect(await createCharge(merchant, 'test', FULL, null)).toMatchObject({ status: 'pending' })
    await expectBalancedLedger(merchant.id)
  })
})

test('charges that are created at the same moment fail alone and keep what was sent with each', async () => {
  const merchants = await Promise.all([makeMerchant(), makeMerchant(), makeMerchant()])
  const gone = { ...(merchants[0] ?? expect.unreachable()), id: newId() }
  const wanted = Array.from({ length: 90 }, (_, nth) => ({
    merchant: nth % 10 === 9 ? gone : (merchants[nth % 3] ?? expect.unreachable()),
    request: { ...CHARGE, amount: 1_000 + nth, external_id: `r${nth % 60}`, metadata: { nth } },
  }))
  const outcomes = await Promise.all(
    wanted.map(({ merchant, request }) =>
      createCharge(merchant, 'test', request, null).catch(error => error),
    ),
  )
  const references: string[] = []
  for (const [nth, outcome] of outcomes.entries()) {
    const { merchant, request } = wanted[nth] ?? expect.unreachable()
    if (outcome instanceof Error) {
      if (merchant !== gone) expect(outcome).toMatchObject({ code: 'external_id_used' })
      continue
    }
    references.push(request.external_id)
    expect(await findCharge(merchant.id, 'test', outcome.id)).toMatchObject({
      amount: request.amount,
      external_id: request.external_id,
      metadata: request.metadata,
    })
  }
  const sent = wanted.flatMap(({ merchant, request }) =>
    merchant === gone ? [] : request.external_id,
  )
  expect(references.sort()).toEqual([...new Set(sent)].sort())
})

test('live mode is refused while no bank is configured, and nothing is written', async () => {
  const merchant = await makeMerchant()
  await expect(createCharge(merchant, 'live', FULL, null)).rejects.toMatchObject({
    code: 'live_mode_disabled',
    message: 'Live mode is not enabled',
  })
  expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(0)
  await expectBalancedLedger(merchant.id)
})
