import { expect, test } from 'vitest'
import { buildChargeCode, findCodeContradiction } from '#lib/banks/gateway.ts'
import { buildDynamicCode, buildStaticCode, parseBrCode } from '#lib/core/pix/br-code.ts'

const LOCATION = 'pix.example.test/qr/v2/0123456789abcdef'
const MERCHANT = { merchantName: 'Padaria', merchantCity: 'Recife' }
const ORDER = { ...MERCHANT, amount: 1_500 }

test('a code built from a location has the amount, and names also where there are none', () => {
  const nameless = { ...ORDER, merchantName: '東京', merchantCity: '' }
  expect(parseBrCode(buildChargeCode(LOCATION, nameless))).toMatchObject({
    ok: true,
    code: { kind: 'dynamic', location: LOCATION, amount: 1_500, merchantCity: 'BRASILIA' },
  })
  expect(findCodeContradiction(buildChargeCode(LOCATION, ORDER), 1_500, LOCATION)).toBeNull()
})

const withoutAmount = buildDynamicCode({ ...MERCHANT, location: LOCATION })

test.each<[string, string, string | null, string | null]>([
  ['no amount, which a payer does not read', withoutAmount, LOCATION, null],
  ['no location to compare', withoutAmount, null, null],
  ['a location in other case', withoutAmount, LOCATION.toUpperCase(), null],
  ['another amount', buildChargeCode(LOCATION, { ...ORDER, amount: 1_501 }), LOCATION, 'amount'],
  ['another location', withoutAmount, `${LOCATION}0`, 'location'],
  ['a static code', buildStaticCode({ ...ORDER, key: 'pix@example.com' }), null, 'static'],
  ['a broken checksum', `${withoutAmount.slice(0, -4)}0000`, LOCATION, 'checksum'],
])('a code with %s is judged', (_, brCode, location, contradiction) => {
  const found = findCodeContradiction(brCode, 1_500, location)
  if (contradiction === null) expect(found).toBeNull()
  else expect(found).toContain(contradiction)
})
