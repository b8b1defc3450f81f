import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import type { Gateway, RefundOrder } from '#lib/banks/gateway.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { formatDecimalAmount } from '#lib/core/money.ts'
import { testConformity } from '#lib/testing/gateway-conformity.ts'
import { type BankResponse, problem, StandardBank } from '#lib/testing/standard-bank.ts'

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

let bank: StandardBank
let gateway: Gateway
let order: RefundOrder
beforeEach(async () => {
  bank = await new StandardBank().open()
  gateway = openApiPix(bank.connection(), lookup as LookupFunction) ?? expect.unreachable()
  const { endToEndId } = bank.receive('15.00', new Date())
  order = { id: removeHyphens(newId()), endToEndId, amount: 507 }
})
afterEach(() => bank.close())

const signal = () => AbortSignal.timeout(10_000)
const refund = (changes: Partial<RefundOrder> = {}) =>
  gateway.refundCharge({ ...order, ...changes }, signal())
const query = () => gateway.getRefund(order, signal())
const efi = (status: number, nome: string): BankResponse => ({ status, body: { nome } })
const USED_ID = [{ propriedade: 'devolucao.id', razao: 'já usado' }]

test('a refund is sent below its payment, and is done once the bank has returned the money', async () => {
  expect(await refund()).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
  expect(bank.requests.at(-1)).toMatchObject({
    method: 'PUT',
    body: { valor: '5.07' },
    path: `/v2/pix/${order.endToEndId}/devolucao/${order.id}`,
  })
  bank.settleRefunds()
  const endToEndId = expect.stringMatching(/^D\w{31}$/)
  expect(await query()).toEqual({ outcome: 'ok', value: { state: 'done', endToEndId } })
})

test('a refund without an id of the return has that of its order', async () => {
  bank.deform = ({ rtrId: _, ...body }) => body
  await refund()
  bank.settleRefunds()
  expect(await query()).toMatchObject({ value: { state: 'done', endToEndId: order.id } })
})

test.each<[string | undefined, string]>([
  ['Saldo insuficiente', 'unspecified'],
  ['AC07 - conta encerrada', 'account_closed'],
  [undefined, 'unspecified'],
])('a refund that was not made has a reason: %s', async (motivo, code) => {
  await refund()
  bank.settleRefunds('NAO_REALIZADO', motivo)
  const value = { state: 'refused', code, params: {}, bankText: motivo ?? null }
  expect(await query()).toEqual({ outcome: 'ok', value })
})

test.each(['EM_ANALISE', 'DEVOLVIDO_PARCIALMENTE'])(
  'a status that this version does not know is not final: %s',
  async status => {
    bank.deform = body => ({ ...body, status })
    expect(await refund()).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
  },
)

test.each<[string, object]>([
  ['no status', { status: null }],
  ['another amount', { valor: '5.08' }],
])('a response with %s is unknown', async (_, change) => {
  bank.deform = body => ({ ...body, ...change })
  expect(await refund()).toMatchObject({ outcome: 'unknown' })
  expect(await query()).toMatchObject({ outcome: 'unknown' })
})

describe('a refund whose id the bank has already', () => {
  test.each<[string, BankResponse]>([
    ['PixDevolucaoInvalida', problem(400, 'PixDevolucaoInvalida', USED_ID)],
    ['devolucao_id_duplicado', efi(409, 'devolucao_id_duplicado')],
  ])('is found after %s', async (_, response) => {
    await refund()
    bank.script.push(response)
    expect(await refund()).toMatchObject({ outcome: 'ok', value: { state: 'taken' } })
    expect(bank.payments.flatMap(({ devolucoes }) => devolucoes)).toHaveLength(1)
  })

  test('with another amount is not that of the order', async () => {
    await refund()
    expect(await refund({ amount: 508 })).toMatchObject({ outcome: 'unknown' })
  })

  test('without an amount is not that of the order either', async () => {
    await refund()
    bank.deform = ({ valor: _, ...body }) => body
    bank.script.push(efi(409, 'devolucao_id_duplicado'))
    expect(await refund()).toMatchObject({ outcome: 'unknown' })
    expect(await query()).toMatchObject({ outcome: 'unknown' })
  })

  test('is unknown if the bank then does not know it, or does not say', async () => {
    bank.script.push(problem(400, 'PixDevolucaoInvalida', USED_ID))
    expect(await refund()).toMatchObject({ outcome: 'unknown' })
    bank.script.push(efi(409, 'devolucao_id_duplicado'), { status: 403, body: {} })
    expect(await refund()).toMatchObject({ outcome: 'unknown' })
  })
})

test('a refund that the bank refuses for another reason, and does not have, is rejected', async () => {
  bank.script.push(problem(400, 'PixDevolucaoInvalida', [{ propriedade: 'devolucao.valor' }]))
  expect(await refund()).toMatchObject({ outcome: 'rejected', bankText: expect.any(String) })
})

test.each<[string, BankResponse]>([
  ['a payment that the bank does not know', problem(404, 'PixNaoEncontrado')],
  ['a reason in no table', { status: 422, body: { nome: 'prazo_excedido' } }],
])('a refund that is refused for %s is unknown', async (_, response) => {
  bank.script.push(response)
  expect(await refund()).toMatchObject({ outcome: 'unknown' })
})

test('a query that the bank refuses is no answer about the refund', async () => {
  bank.script.push({ status: 400, body: { nome: 'json_invalido' } })
  expect(await query()).toMatchObject({ outcome: 'rejected' })
})
