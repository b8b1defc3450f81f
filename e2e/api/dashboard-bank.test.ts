import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { buildDynamicCode, buildStaticCode, crc16 } from '#lib/core/pix/br-code.ts'
import { BankRead } from '#lib/dashboard/bank.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const PAYEE = { merchantName: 'Loja Aurora', merchantCity: 'Sao Paulo' }

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Padaria São João')
  secret = await signIn(merchant, 'viewer')
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

function readCode(code: string, mode = 'test') {
  const headers = pageHeaders(secret, merchant.id, mode)
  return call(api.url, 'GET', `/dashboard/bank/read?code=${encodeURIComponent(code)}`, { headers })
}

function withChecksum(text: string): string {
  return `${text}6304${crc16(`${text}6304`)}`
}

describe('the simulated bank', () => {
  test('reads a charge of the account from its code, with spaces and line breaks in it', async () => {
    const charge = await openCharge(merchant, 12_345)
    const half = charge.br_code.length / 2
    const wrapped = `${charge.br_code.slice(0, half)}\r\n  ${charge.br_code.slice(half)}`
    for (const pasted of [charge.br_code, `  ${charge.br_code}\n`, wrapped]) {
      const { status, body } = await readCode(pasted)
      expect(status).toBe(200)
      expectShape(BankRead, body)
      expect(body.data).toMatchObject({
        problem: null,
        receiver: 'Padaria Sao Joao',
        city: 'BRASILIA',
        charge: { id: charge.id, amount: 12_345, status: 'pending', br_code: charge.br_code },
      })
    }
  })

  test('reports the problem of any other code and reveals no charge of another account', async () => {
    const ownCode = (await openCharge(merchant)).br_code
    const foreignCode = (await openCharge(await makeMerchant('Loja vizinha'))).br_code
    const body = ownCode.slice(0, -8)
    const cases: [string, string][] = [
      ['hello', 'no_code'],
      ['https://pix.example.test/pay/x', 'no_code'],
      [ownCode.slice(0, -1), 'checksum'],
      [ownCode.replace('Padaria', 'Padarla'), 'checksum'],
      [ownCode.replace('Sao', 'São'), 'characters'],
      [withChecksum(body.replace('5303986', '5303840')), 'currency'],
      [withChecksum(body.replace('5802BR', '5802PT')), 'country'],
      [withChecksum(`${body}9901`), 'structure'],
      [withChecksum(body.replace('br.gov.bcb.pix', 'br.gov.bcb.pox')), 'arrangement'],
      [withChecksum(body.replace('540515.00', '5405015,0')), 'amount'],
      [withChecksum(body.replace('540515.00', '540516.00')), 'foreign'],
      [foreignCode, 'foreign'],
      [buildDynamicCode({ ...PAYEE, location: 'pix.example.test/qr/v2/none' }), 'foreign'],
      [buildDynamicCode({ ...PAYEE, location: 'pix.bank.example/qr/v2/abc' }), 'real'],
      [buildStaticCode({ ...PAYEE, key: 'loja@example.com', amount: 100 }), 'real'],
    ]
    for (const [code, problem] of cases) {
      const { status, body } = await readCode(code)
      expect([status, body], code).toEqual([
        200,
        { data: { problem, receiver: null, city: null, charge: null } },
      ])
    }
  })

  test('refuses an empty or too long code, live mode and members of other accounts', async () => {
    expect((await readCode('')).status).toBe(422)
    expect((await readCode('0'.repeat(601))).status).toBe(422)
    expect(refusal(await readCode('000201', 'live'))).toEqual([
      404,
      '{"error":"Not found"}',
      'not_found',
    ])
    const headers = pageHeaders(secret, (await makeMerchant()).id)
    const response = await call(api.url, 'GET', '/dashboard/bank/read?code=x', { headers })
    expect(response.status).toBe(401)
  })
})
