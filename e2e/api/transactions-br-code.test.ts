import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

const RUN_COUNT = 100

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** Generates text that JSON and PostgreSQL can store; lengths are in UTF-16 units. */
const text = (minLength: number, maxLength: number) =>
  fc
    .string({ unit: 'binary', minLength, maxLength })
    .filter(value => value.isWellFormed() && !value.includes('\0'))
    .filter(value => value.trim().length >= minLength && value.length <= maxLength)

const printable = (minLength: number, maxLength: number) =>
  text(minLength, maxLength).filter(value => !/\p{C}/u.test(value))

const digits = (length: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: length, maxLength: length })

const document = fc.oneof(
  digits(11),
  digits(14),
  digits(11).map(cpf => cpf.replace(/^(...)(...)(...)/, '$1.$2.$3-')),
  fc
    .tuple(
      fc.string({ unit: fc.constantFrom(...'0123456789ABCXYZ'), minLength: 12, maxLength: 12 }),
      digits(2),
    )
    .map(parts => parts.join('')),
)

/** Generates objects that a round trip through JSON does not change. */
const jsonObject = fc.dictionary(
  printable(1, 20),
  fc.oneof(text(0, 40), fc.integer(), fc.boolean()),
  {
    maxKeys: 20,
  },
)

const email = fc
  .tuple(fc.stringMatching(/^[a-z][a-z0-9]{0,20}$/), fc.stringMatching(/^[a-z]{1,15}\.[a-z]{2,4}$/))
  .map(([name, domain]) => `${name}@${domain}`)

const request = fc.record(
  {
    amount: fc.oneof(
      fc.integer({ min: 500, max: 999_999_999_999 }),
      fc.constantFrom(500, 999_999_999_999),
    ),
    // Control, format and unassigned characters are dropped; something must be left.
    client_name: text(1, 254).map(name => `A${name}`),
    client_email: email,
    client_doc: document,
    client_phone: text(0, 30),
    webhook_url: fc.webUrl({ withQueryParameters: true, size: 'small' }),
    ip: fc.oneof(fc.ipV4(), fc.ipV6()),
    metadata: jsonObject,
    utms: jsonObject,
    items: fc.array(
      fc.record(
        {
          name: text(0, 50),
          price: fc.oneof(fc.integer(), fc.constant('10,50')),
          quantity: fc.nat(),
        },
        { requiredKeys: [] },
      ),
      { maxLength: 50, size: 'small' },
    ),
    external_id: printable(1, 200).map(name => `${newId()} ${name}`),
    expires_in: fc.integer({ min: 60, max: 2_592_000 }),
  },
  { requiredKeys: ['amount', 'client_name', 'client_email', 'client_doc'] },
)

/** Names that do not fit into a code: too long, accented, in another script, symbols only. */
const MERCHANT_NAMES = [
  'A',
  'Pão & Café São João da Boa Vista Ltda',
  '株式会社',
  '😀',
  'x'.repeat(255),
  '6304 00',
]

test('the code of any charge parses to its amount, its location and a valid name', async () => {
  const tokens: string[] = []
  for (const name of MERCHANT_NAMES) tokens.push(await makeToken((await makeMerchant(name)).id))

  async function checkRequest(
    body: { amount: number; metadata?: object },
    merchantIndex: number,
  ): Promise<void> {
    const token = tokens[merchantIndex]
    const { status, body: responseBody } = await call(api.url, 'POST', '/transactions', {
      token,
      body,
    })
    expect(status).toBe(200)
    const { transaction_id, br_code, amount } = responseBody.data
    expect(amount).toBe(body.amount)
    expect(responseBody.data.metadata).toEqual(body.metadata ?? null)
    const reading = parseBrCode(br_code)
    expect(reading).toMatchObject({
      ok: true,
      code: {
        kind: 'dynamic',
        amount: body.amount,
        location: `pix.example.test/qr/v2/${transaction_id.replaceAll('-', '')}`,
        use: 'once',
        merchantCity: 'BRASILIA',
        merchantName: expect.stringMatching(/^[ -~]{1,25}$/),
      },
    })
    const read = await call(api.url, 'GET', `/transactions/${transaction_id}`, { token })
    expect(read.body.data.br_code).toBe(br_code)
  }
  const merchantIndex = fc.nat({ max: MERCHANT_NAMES.length - 1 })
  await fc.assert(fc.asyncProperty(request, merchantIndex, checkRequest), {
    numRuns: RUN_COUNT,
    endOnFailure: true,
  })
})

test('twenty identical charges have twenty codes', async () => {
  const token = await makeToken((await makeMerchant()).id)
  const codes = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const { body } = await call(api.url, 'POST', '/transactions', { token, body: CHARGE })
      return body.data.br_code
    }),
  )
  expect(new Set(codes).size).toBe(20)
})
