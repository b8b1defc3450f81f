import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { buildChargeCode, type ChargeTerms, type Gateway } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import {
  type BankResponse,
  problem,
  RECEIVING_KEY,
  StandardBank,
} from '#lib/testing/standard-bank.ts'

let bank: StandardBank
let gateway: Gateway
let order: ChargeTerms
beforeEach(async () => {
  bank = await new StandardBank().open()
  gateway = openApiPix(bank.connection(), lookup as LookupFunction) ?? expect.unreachable()
  order = {
    txid: removeHyphens(newId()),
    amount: 1_500,
    expiresInSeconds: 3_600,
    merchantName: 'Padaria',
    merchantCity: 'Recife',
    payerName: 'Ana',
    payerEmail: 'ana@example.com',
    payerDoc: '52998224725',
  }
})
afterEach(async () => {
  vi.useRealTimers()
  await bank.close()
})

const signal = () => AbortSignal.timeout(10_000)
const create = (changes: Partial<ChargeTerms> = {}) =>
  gateway.createCharge({ ...order, ...changes }, signal())
const stateOf = async (txid = order.txid) => {
  const result = await gateway.getCharges([txid], signal())
  return result.outcome === 'ok' ? (result.value.states.get(txid) ?? null) : result
}
const sentOf = (method: string) =>
  bank.requests.filter(request => request.method === method).map(({ body }) => body)
const LOCATION = 'pix.example.test/qr/v2/'
const efi = (status: number, nome: string): BankResponse => ({ status, body: { nome } })

describe('opening a charge', () => {
  test('sends amount, key, expiry and payer, and builds the code from the location', async () => {
    const result = await create({ payerName: 'x'.repeat(255) })
    expect(sentOf('PUT')).toEqual([
      {
        calendario: { expiracao: 3_600 },
        devedor: { cpf: '52998224725', nome: 'x'.repeat(200) },
        valor: { original: '15.00' },
        chave: RECEIVING_KEY,
      },
    ])
    const { brCode } = (result as { value: { brCode: string } }).value
    expect(parseBrCode(brCode)).toMatchObject({ code: { location: LOCATION + order.txid } })
  })

  test.each<[string, (body: Record<string, unknown>, brCode: string) => object]>([
    ['pixCopiaECola', (body, brCode) => ({ ...body, pixCopiaECola: brCode })],
    ['brcode', (body, brCode) => ({ ...body, brcode: brCode, pixCopiaECola: null })],
    ['loc.location', ({ location, ...body }) => ({ ...body, loc: { id: 1, location } })],
    ['a location with a scheme', body => ({ ...body, location: `https://${body.location}` })],
    ['a code alone', ({ txid }, brCode) => ({ txid, status: 'ATIVA', pixCopiaECola: brCode })],
    [
      'numbers as text',
      body => ({ ...body, calendario: { ...(body.calendario as object), expiracao: '3600' } }),
    ],
    ['the amount as a number', body => ({ ...body, valor: { original: 15 } })],
  ])('accepts %s', async (_, deform) => {
    const brCode = buildChargeCode(LOCATION + order.txid, order)
    bank.deform = body => deform(body, brCode)
    expect(await create()).toMatchObject({ outcome: 'ok', value: { brCode } })
  })

  test.each<[string, () => object]>([
    ['another amount', () => ({ valor: { original: '15.01' } })],
    ['another key', () => ({ chave: 'other@example.com' })],
    ['the code of another charge', () => ({ pixCopiaECola: codeAt(`${order.txid}1`) })],
    ['a code of another amount', () => ({ pixCopiaECola: codeAt(order.txid, 1_501) })],
    ['an unreadable code', () => ({ pixCopiaECola: 'code' })],
    ['no code and location', () => ({ location: null })],
  ])('is unknown with %s: it may be paid, and must be removed', async (_, change) => {
    bank.deform = body => ({ ...body, ...change() })
    expect(await create()).toMatchObject({ outcome: 'unknown' })
  })

  test('omits a payer whose document has letters, if the bank refuses it', async () => {
    bank.script.push(problem(400, 'RequisicaoInvalida', [{ propriedade: 'cob.devedor.cnpj' }]))
    expect(await create({ payerDoc: '12ABC34501DE35' })).toMatchObject({ outcome: 'ok' })
    expect(sentOf('PUT').map(body => 'devedor' in body)).toEqual([true, false])
  })

  test('that the bank refuses for the document of a person names the field', async () => {
    bank.script.push(problem(400, 'RequisicaoInvalida', [{ propriedade: 'cob.devedor.cpf' }]))
    expect(await create()).toMatchObject({ outcome: 'rejected', field: 'document' })
  })
})

describe('a charge that the bank has already', () => {
  beforeEach(() => create())

  test.each(['txid_duplicado', 'CobOperacaoInvalida'])('is found after %s', async name => {
    bank.script.push(name === 'txid_duplicado' ? efi(409, name) : problem(400, name))
    expect(await create()).toMatchObject({ outcome: 'ok', value: { brCode: expect.any(String) } })
  })

  test.each<[string, object]>([
    ['amount', { valor: { original: '15.01' } }],
    ['key', { chave: 'other@example.com' }],
    ['readable amount', { valor: null }],
    ['key that it reports', { chave: null }],
  ])('with another %s is not that of the order', async (_, change) => {
    Object.assign(bank.charges.get(order.txid) ?? {}, change)
    bank.script.push(efi(409, 'txid_duplicado'))
    expect(await create()).toMatchObject({ outcome: 'unknown' })
  })

  test('and that was paid is open, with news', async () => {
    bank.pay(order.txid, '15.00')
    expect(await create()).toMatchObject({ outcome: 'ok', value: { newsInMs: 0 } })
  })

  test('and that was removed is rejected', async () => {
    await gateway.cancelCharge(order.txid, signal())
    expect(await create()).toMatchObject({ outcome: 'rejected' })
  })

  test.each([503, 403, 400])('is unknown if asking ends with %i', async status => {
    bank.script.push(efi(409, 'txid_duplicado'), { status, body: {} })
    expect(await create()).toMatchObject({ outcome: 'unknown' })
  })
})

test.each<[string, BankResponse, object]>([
  ['refused as a duplicate', efi(409, 'txid_duplicado'), { outcome: 'unknown' }],
  [
    'refused for its amount',
    problem(400, 'CobOperacaoInvalida', [{ propriedade: 'cob.valor.original' }]),
    { outcome: 'rejected', field: 'amount' },
  ],
])('a charge %s that the bank does not have', async (_, response, expected) => {
  bank.script.push(response)
  expect(await create()).toMatchObject(expected)
})

describe('a charge can be paid', () => {
  const payableFor = async (clockMs: number, origin: 'new' | 'found' = 'new', dateMs = 0) => {
    bank.clockMs = dateMs
    const criacao = new Date(Date.now() + clockMs).toISOString()
    bank.deform = body => ({ ...body, calendario: { criacao, expiracao: '1800' } })
    if (origin === 'found') {
      await create()
      bank.script.push(efi(409, 'txid_duplicado'))
    }
    const result = await create()
    return (result as { value: { payableForMs?: number } }).value.payableForMs
  }

  test.each<[string, number, 'new' | 'found', number | undefined, dateMs?: number]>([
    ['as long as the bank says', -20_000, 'new', 1_780_000],
    ['from the creation that a repeated request finds', -600_000, 'found', 1_200_000],
    ["by Troco's clock if the bank's is 61 s behind", -61_000, 'new', undefined],
    ["by Troco's clock if the bank's is 90 s ahead", 90_000, 'new', undefined],
    ["by Troco's clock if the bank labels local time as UTC", -10_800_000, 'found', undefined],
    [
      "by Troco's clock if a repeated request finds one of a late clock",
      -90_000,
      'found',
      undefined,
      -90_000,
    ],
    ['from the creation at a bank whose clock is 55 s late', -90_000, 'found', 1_710_000, -55_000],
  ])('%s', async (_, clockMs, origin, expected, dateMs) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    expect(await payableFor(clockMs, origin, dateMs)).toBe(expected)
  })
})

describe('the state of a charge', () => {
  beforeEach(() => create())

  test('has all payments, also a second one', async () => {
    const first = bank.pay(order.txid, '15.00')
    const second = bank.receive('15.00', new Date(), order.txid)
    Object.assign(bank.charges.get(order.txid) ?? {}, { pix: [first, second] })
    const payments = [first, second].map(({ endToEndId }) =>
      expect.objectContaining({ endToEndId, amount: 1_500, txid: order.txid }),
    )
    expect(await stateOf()).toEqual({ state: 'paid', payments })
  })

  test.each<[string, object]>([
    ['the bank names none', { pix: null }],
    ['one is unreadable', { pix: [{ endToEndId: 'E1', valor: 'quinze' }] }],
  ])('has the payments of the list if %s', async (_, change) => {
    const [criacao, paidAt] = [60_000, 30_000].map(ms => new Date(Date.now() - ms))
    const { endToEndId } = bank.pay(order.txid, '14.00', paidAt)
    const calendario = { criacao, expiracao: 3_600 }
    Object.assign(bank.charges.get(order.txid) ?? {}, { calendario, ...change })
    const payment = expect.objectContaining({ endToEndId, amount: 1_400 })
    expect(await stateOf()).toEqual({ state: 'paid', payments: [payment] })
  })

  test('is paid without payments if one is named that nobody can read', async () => {
    const calendario = { criacao: new Date(Date.now() - 60_000), expiracao: 3_600 }
    const pix = [{ endToEndId: 'E1', valor: 'quinze' }]
    Object.assign(bank.charges.get(order.txid) ?? {}, { calendario, pix })
    expect(await stateOf()).toEqual({ state: 'paid', payments: [] })
  })

  test('is unknown if it is paid and no payment is found', async () => {
    Object.assign(bank.charges.get(order.txid) ?? {}, { status: 'CONCLUIDA' })
    expect(await stateOf()).toMatchObject({ outcome: 'unknown' })
  })

  test('is open with a status that this version does not know', async () => {
    Object.assign(bank.charges.get(order.txid) ?? {}, { status: 'EM_ANALISE' })
    expect(await stateOf()).toEqual({ state: 'open' })
  })

  test('is canceled if the bank removed it', async () => {
    Object.assign(bank.charges.get(order.txid) ?? {}, { status: 'REMOVIDA_PELO_PSP' })
    expect(await stateOf()).toEqual({ state: 'cancelled' })
  })

  test('is absent if the bank does not know it', async () => {
    expect(await stateOf(removeHyphens(newId()))).toBeNull()
  })

  test('does not keep others from being queried while its own query fails', async () => {
    bank.script.push({ status: 500, body: {} })
    const txids = [removeHyphens(newId()), order.txid]
    const result = await gateway.getCharges(txids, signal())
    expect(result).toMatchObject({ outcome: 'ok', value: { unanswered: [expect.any(String)] } })
  })

  test('is left for later after three failed queries, with the pause of the bank', async () => {
    const txids = Array.from({ length: 16 }, (_, last) => order.txid.slice(1) + last.toString(16))
    const busy = { status: 429, body: {}, headers: { 'retry-after': '9' } }
    bank.script.push({ status: 404, body: { nome: 'cobranca_nao_encontrada' } }, busy, busy, busy)
    const result = await gateway.getCharges(txids, signal())
    expect(result).toMatchObject({ outcome: 'ok', value: { retryAfterMs: 9_000 } })
  })
})

describe('removing a charge', () => {
  test.each(['status_cobranca_invalido', 'CobOperacaoInvalida'])(
    'that was paid reports the payment after %s',
    async name => {
      await create()
      bank.pay(order.txid, '15.00')
      bank.script.push(name === 'CobOperacaoInvalida' ? problem(400, name) : efi(400, name))
      const result = await gateway.cancelCharge(order.txid, signal())
      expect(result).toMatchObject({ outcome: 'ok', value: { state: 'paid' } })
    },
  )

  test.each<[string, BankResponse]>([
    ['status', { status: 200, body: {} }],
    ['body', { status: 204, text: '' }],
  ])('that the bank confirms without a %s is asked about', async (_, response) => {
    await create()
    bank.script.push(response)
    const result = await gateway.cancelCharge(order.txid, signal())
    expect(result).toEqual({ outcome: 'ok', value: { state: 'open' } })
  })

  test.each(['CobNaoEncontrado', 'cobranca_nao_encontrada'])(
    'that the bank does not have is null: %s',
    async name => {
      bank.script.push(name === 'CobNaoEncontrado' ? problem(404, name) : efi(400, name))
      const result = await gateway.cancelCharge(order.txid, signal())
      expect(result).toEqual({ outcome: 'ok', value: null })
    },
  )
})

function codeAt(txid: string, amount = 1_500): string {
  return buildChargeCode(LOCATION + txid, { merchantName: 'A', merchantCity: 'B', amount })
}
