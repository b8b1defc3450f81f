import { expect, test } from 'vitest'
import { readCharge } from '#lib/banks/api-pix/read.ts'

const PIX = { endToEndId: 'E1', valor: '10.00', horario: '2026-11-20T12:00:00.000Z' }
const payerOf = (pix: object) =>
  readCharge({ pix: [{ ...PIX, ...pix }] }, 'abc')?.payments[0]?.payer

test('a payer is read where banks name one, and its document is masked', () => {
  const payer = { name: 'Ana Rocha', maskedDoc: '***.982.247-**', bank: '99999998' }
  const pagador = { nome: ' Ana Rocha ', cpf: '529.982.247-25', codigoBanco: '99999998' }
  expect(payerOf({ pagador })).toEqual(payer)
  expect(payerOf({ gnExtras: { pagador } })).toEqual(payer)
  expect(payerOf({ pagador: { nome: 'Loja', cnpj: '12ABC34501DE35' } })).toEqual({
    name: 'Loja',
    maskedDoc: '**.ABC.345/****-**',
    bank: null,
  })
  expect(payerOf({ pagador: { nome: 'Ana', cpf: '***.982.247-**' } })?.maskedDoc).toBe(
    '***.982.247-**',
  )
})

test('no whole document is kept, in whatever form or place', () => {
  // Nine digits determine the other two.
  const readable = ['529.982.247-**', '529982247**', '**298224725']
  for (const cpf of ['N52998224725', '52998224725*', '529 982 247 25 (x)', ...readable])
    expect(payerOf({ pagador: { nome: 'Ana', cpf } })?.maskedDoc, cpf).toBeNull()
  expect(payerOf({ pagador: { nome: 'ANA ROCHA 52998224725' } })?.name).toBe(
    'ANA ROCHA ***.982.247-**',
  )
  const [before, cut] = ['A'.repeat(190), '52998224725']
  expect(payerOf({ pagador: { nome: `${before} ${cut}` } })?.name).not.toMatch(/\d{4}/)
})

test('what cannot be stored names nobody, and a long name is cut', () => {
  for (const pagador of [null, 'Ana', [], {}, { nome: '  ' }, { nome: 'A\0' }, { nome: '\ud800' }])
    expect(payerOf({ pagador })).toBeUndefined()
  const long = payerOf({
    pagador: { nome: `${'A'.repeat(199)}😀😀`, codigoBanco: '9'.repeat(500) },
  })
  expect(long?.name).toBe(`${'A'.repeat(199)}😀`)
  expect(long?.bank).toHaveLength(200)
})
