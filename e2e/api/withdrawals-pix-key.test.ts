import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  startApiWithMerchant,
} from '#lib/testing/fixtures.ts'

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  ;({ api, merchant, token } = await startApiWithMerchant())
  await fundMerchant(merchant, 1_000_000)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function withdraw(pix_key: string, pix_key_type?: string) {
  const body = { amount: 1_000, pix_key, pix_key_type }
  return call(api.url, 'POST', '/withdrawals', { token, body })
}

/** Returns the form of the key in the bank's directory (DICT). */
async function readDictKey(id: string): Promise<string> {
  return (await db().withdrawal.findFirstOrThrow({ where: { id } })).dictKey
}

const CPF = '52998224725'
const CNPJ = '11222333000181'
const CNPJ_WITH_LETTERS = '12ABC34501DE35'
const MOBILE = '+5511987654321'
const UUID = '0190a8f0-1b2c-4d3e-8f90-a1b2c3d4e5f6'

describe('a key with a type', () => {
  test.each([
    ['cpf', CPF, CPF],
    ['cpf', '529.982.247-25', CPF],
    ['cpf', '529 982 247 25', CPF],
    ['cpf', ' 529.982.247-25 ', CPF],
    ['cpf', '12345678901', '12345678901'],
    ['cnpj', CNPJ, CNPJ],
    ['cnpj', '11.222.333/0001-81', CNPJ],
    ['cnpj', '11 222 333 0001 81', CNPJ],
    ['cnpj', CNPJ_WITH_LETTERS, CNPJ_WITH_LETTERS],
    ['cnpj', '12.abc.345/01de-35', CNPJ_WITH_LETTERS],
    ['cnpj', '12345678901234', '12345678901234'],
    ['email', 'ana@example.com', 'ana@example.com'],
    ['email', 'Ana.Rocha+PIX@Example.COM', 'ana.rocha+pix@example.com'],
    ['email', 'x@y.z', 'x@y.z'],
    ['email', `${'x'.repeat(71)}@b.com`, `${'x'.repeat(71)}@b.com`],
    ['phone', MOBILE, MOBILE],
    ['phone', '+55 (11) 98765-4321', MOBILE],
    ['phone', '(11) 98765-4321', MOBILE],
    ['phone', '11987654321', MOBILE],
    ['phone', '5511987654321', MOBILE],
    ['phone', '11.98765.4321', MOBILE],
    ['phone', '1133334444', '+551133334444'],
    ['phone', '+14155550123', '+14155550123'],
    ['phone', '123456789012345', '+123456789012345'],
    ['random', UUID, UUID],
    ['random', UUID.toUpperCase(), UUID],
    ['random', UUID.replaceAll('-', ''), UUID],
    ['random', UUID.replaceAll('-', ' '), UUID],
  ])(
    '%s %j is accepted, returned as sent and stored in the form of the directory',
    async (type, key, dictKey) => {
      const { status, body } = await withdraw(key, type)
      expect(status).toBe(200)
      expect(body.data).toMatchObject({ pix_key: key, pix_key_type: type })
      expect(await readDictKey(body.data.id)).toBe(dictKey)
    },
  )

  test.each([
    ['cpf', '5299822472'],
    ['cpf', '529982247255'],
    ['cpf', '5299822472a'],
    ['cpf', '529_982_247_25'],
    ['cpf', CNPJ],
    ['cpf', 'ana@example.com'],
    ['cnpj', '1122233300018'],
    ['cnpj', '112223330001811'],
    ['cnpj', '12ABC34501DEXY'],
    ['cnpj', '12ÁBC34501DE35'],
    ['cnpj', CPF],
    ['email', 'ana'],
    ['email', 'ana@'],
    ['email', '@example.com'],
    ['email', 'ana@localhost'],
    ['email', 'ana rocha@example.com'],
    ['email', 'ana@rui@example.com'],
    ['phone', '119876543'],
    ['phone', '+119876543'],
    ['phone', '1234567890123456'],
    ['phone', '11 98765-432a'],
    ['phone', '++5511987654321'],
    ['random', UUID.slice(1)],
    ['random', `${UUID}0`],
    ['random', UUID.replace('0', 'g')],
    ['random', CPF],
  ])('%s %j is refused under pix_key', async (type, key) => {
    const { status, body } = await withdraw(key, type)
    expect(status).toBe(422)
    expect(Object.keys(body.errors)).toEqual(['pix_key'])
    expect(body.errors.pix_key).toHaveLength(1)
    expect(body.errors.pix_key[0]).toMatch(/^pix_key must /)
  })
})

describe('a key without a type', () => {
  test.each([
    ['eleven digits, a valid CPF and no mobile number', CPF, 'cpf', CPF],
    ['the same with separators', '529.982.247-25', 'cpf', CPF],
    ['a mobile number that is no valid CPF', '11987654321', 'phone', MOBILE],
    ['a mobile number that is a valid CPF', '11987654374', 'cpf', '11987654374'],
    ['eleven digits that are neither', '12345678901', 'cpf', '12345678901'],
    ['fourteen digits', CNPJ, 'cnpj', CNPJ],
    ['fourteen letters and digits', CNPJ_WITH_LETTERS, 'cnpj', CNPJ_WITH_LETTERS],
    ['an e-mail address', 'Ana@Example.com', 'email', 'ana@example.com'],
    ['a phone number with its country code', MOBILE, 'phone', MOBILE],
    ['ten digits', '1133334444', 'phone', '+551133334444'],
    ['a UUID', UUID.toUpperCase(), 'random', UUID],
    ['a UUID without hyphens', UUID.replaceAll('-', ''), 'random', UUID],
  ])('%s', async (_what, key, type, dictKey) => {
    const { status, body } = await withdraw(key)
    expect(status).toBe(200)
    expect(body.data).toMatchObject({ pix_key: key, pix_key_type: type })
    expect(await readDictKey(body.data.id)).toBe(dictKey)
  })

  test.each(['nobody', '123', 'ana@localhost', '1'.repeat(40)])(
    '%j is refused under pix_key',
    async key => {
      const { status, body } = await withdraw(key)
      expect(status).toBe(422)
      expect(body).toEqual({ errors: { pix_key: ['pix_key must be a PIX key'] } })
    },
  )
})

test('control characters in a key are dropped, and X-Ignored-Fields names it', async () => {
  const { status, headers, body } = await withdraw('ana\u200B@example.com\n', 'email')
  expect([status, headers.get('x-ignored-fields')]).toEqual([200, 'pix_key'])
  expect(body.data.pix_key).toBe('ana@example.com')
})
