import { expect, test } from 'vitest'
import { hideTaxIds } from './hide-tax-ids.ts'
import { normalizeTaxId } from './tax-id.ts'

test('documents are masked in each string of a value, and nothing else changes', () => {
  const at = new Date()
  const id = '01a1fbb6-bf1b-7d40-9b0e-52998224725a'
  const value = {
    key: '52998224725',
    text: 'payer 529.982.247-25, shop 11.222.333/0001-81 or 11222333000181; 12345678901 is none',
    body: '{"pix_key":"52998224725"}',
    id,
    at,
    amount: 52_998_224_725,
    none: null,
    list: ['529.982.247-25'],
  }
  expect(hideTaxIds(value)).toEqual({
    key: '***.982.247-**',
    text: 'payer ***.982.247-**, shop **.222.333/****-** or **.222.333/****-**; 12345678901 is none',
    body: '{"pix_key":"***.982.247-**"}',
    id,
    at,
    amount: 52_998_224_725,
    none: null,
    list: ['***.982.247-**'],
  })
})

test.each([
  'cli-52998224725',
  'x52998224725',
  'cpf:529.982.247-25/2',
  'a/52998224725-b',
  '529 982 247 25',
  '529.982.247/25',
  'pedido_52998224725_1',
  '{"cpf":52998224725,"cnpj":"cli-11222333000181"}',
  '/payments/11.222.333/0001-81',
  '000201…5802BR5920Loja cli-529982247256008BRASILIA62070503***63048878',
  '000201…5802BR591152998224725 Ana6008BRASILIA62070503***63048878',
  '000201…5802BR5914112223330001816008BRASILIA62070503***63048878',
  'cli-12ABC34501DE35',
  'loja/12.abc.345/01de-35',
])('a document is masked wherever it begins or ends: %s', text => {
  expect(hideTaxIds(text)).toMatch(/\*{2,3}\.\w{3}\.\w{3}/)
  for (const bare of ['529982', '112223', '12ABC3'])
    expect(normalizeTaxId(hideTaxIds(text))).not.toContain(bare)
})

test.each([
  '01a1fbb6-bf1b-7d40-9b0e-152998224725',
  '01a1fbb6bf1b7d409b0e52998224725a',
  'E12345678202611261200abc52998224',
  'D00000000202611261509x0000000001',
  '+5511987654321',
  '2026-11-26T15:09:06.123456Z',
  'R$ 52.998.224.725,00',
  '12345678901',
  '529982247250',
])('what is no document stays: %s', text => expect(hideTaxIds(text)).toBe(text))

test('documents are masked in keys and in the numbers of free data, and amounts stay', () => {
  const value = {
    amount: 52_998_224_725,
    metadata: { '529.982.247-25': 1, cpf: 52_998_224_725, deep: [{ n: 11_222_333_000_181 }] },
    utms: { id: 1_234_567_890, order: 10_482_026, cents: 52_998_224_725.5 },
    items: [{ price: 52_998_224_725, quantity: 52_998_224_725, sku: 52_998_224_725 }],
  }
  const mask = '***.982.247-**'
  expect(hideTaxIds(value)).toEqual({
    amount: 52_998_224_725,
    metadata: { [mask]: 1, cpf: mask, deep: [{ n: '**.222.333/****-**' }] },
    // 01234567890 is a CPF: its zero is lost in a number.
    utms: { id: '***.345.678-**', order: 10_482_026, cents: 52_998_224_725.5 },
    items: [{ price: 52_998_224_725, quantity: 52_998_224_725, sku: mask }],
  })
  const bare = Object.assign(Object.create(null), { key: '52998224725' })
  expect(hideTaxIds(bare)).toEqual({ key: mask })
})
