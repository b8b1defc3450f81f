import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { testConformity } from '#lib/testing/gateway-conformity.ts'
import { StandardBank } from '#lib/testing/standard-bank.ts'

const banks: StandardBank[] = []
afterEach(async () => {
  for (const bank of banks.splice(0)) await bank.close()
})

async function openBank(): Promise<StandardBank> {
  const bank = await new StandardBank().open()
  banks.push(bank)
  return bank
}
const open = (connection: ReturnType<StandardBank['connection']>) =>
  openApiPix(connection, lookup as LookupFunction)
const refusalOf = (work: () => unknown): string => {
  try {
    return work() === null ? 'null' : 'opened'
  } catch (error) {
    return (error as Error).message
  }
}

testConformity(
  'an API Pix bank',
  async () => {
    const bank = await openBank()
    return {
      gateway: open(bank.connection()) ?? expect.unreachable(),
      payee: null,
      world: {
        pay: async (txid, amount) => void bank.pay(txid, formatDecimalAmount(amount)),
        settle: async () => bank.settleRefunds(),
        refusePayout: async () => {},
        hang: () => {
          bank.isHanging = true
        },
        receive: async (amount, paidAt) =>
          bank.receive(formatDecimalAmount(amount), paidAt).endToEndId,
      },
    }
  },
  { hasPayouts: false },
)

describe('a connection', () => {
  test.each([
    ['a key to receive with', { receivingKeys: [] }],
    ['an environment', { environment: null }],
  ])('without %s is not served', async (_, changes) => {
    const bank = await openBank()
    expect(refusalOf(() => open(bank.connection(changes) as never))).toBe('null')
  })

  test.each<[string, object]>([
    ['profile must be one of', { profile: 'banco-azul' }],
    ['profile must be one of', { profile: 'toString' }],
    [
      'settings must have api_url as an https address',
      { settings: { api_url: 'http://b.example' } },
    ],
    ['settings must have api_url and token_url', { settings: {} }],
    [
      'settings must have api_url and',
      { profile: 'itau', environment: 'homologation', settings: {} },
    ],
    ['credentials must be given', { credentials: null }],
    ['credentials must', { credentials: '{}' }],
  ])('is refused where %s: %j', async (rule, changes) => {
    const bank = await openBank()
    expect(refusalOf(() => open(bank.connection(changes as never)))).toContain(rule)
  })

  test.each(Object.keys(PROFILES).filter(name => name !== 'standard'))(
    'of the profile %s needs no address for production, and its addresses are https',
    async profile => {
      const bank = await openBank()
      expect(refusalOf(() => open(bank.connection({ profile, settings: {} })))).toBe('opened')
      const { apiUrl, tokenUrl } = PROFILES[profile] ?? expect.unreachable()
      for (const url of [...Object.values(apiUrl), ...Object.values(tokenUrl)])
        expect(new URL(url).protocol).toBe('https:')
    },
  )
})
