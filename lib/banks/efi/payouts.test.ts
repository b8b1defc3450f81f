import { expect, test } from 'vitest'
import { centsOfBalance, readPayout, SENT_PAYOUTS } from '#lib/banks/efi/adapter.ts'

const AT = '2026-11-20T12:00:00.000Z'

test('a payout without anything readable has nothing', () => {
  const nothing = {
    id: null,
    endToEndId: null,
    amount: null,
    dictKey: null,
    status: null,
    requestedAt: null,
    payee: null,
    returns: [],
    unreadable: 0,
    isGarbled: false,
    failure: { spiCode: '', text: null },
  }
  for (const body of [null, [], 'text', {}, { valor: null, devolucoes: {} }])
    expect(readPayout(body)).toEqual(nothing)
  for (const body of [
    { valor: {}, favorecido: [] },
    { idEnvio: [] },
    { favorecido: { chave: {} } },
  ])
    expect(readPayout(body)).toEqual({ ...nothing, isGarbled: true })
})

test.each<[string, object, string | null]>([
  ['identificacao', { favorecido: { identificacao: { nome: 'Ana', cpf: '***1**' } } }, '***1**'],
  ['the receiver', { favorecido: { chave: 'a@b.co', nome: 'Ana', cpf: '***1**' } }, '***1**'],
  ['contaBanco', { favorecido: { contaBanco: { nome: 'Ana', cnpj: '***2**' } } }, '***2**'],
  ['gnExtras', { gnExtras: { favorecido: { nome: 'Ana' } } }, null],
])('a payee is named by %s', (_, body, maskedDoc) => {
  expect(readPayout(body).payee).toEqual({ name: 'Ana', maskedDoc, bank: null })
})

test('a whole document of a payee is masked; one without a name is no payee', () => {
  const of = (identificacao: object) => readPayout({ favorecido: { identificacao } }).payee
  expect(of({ nome: 'Ana', cpf: '52998224725' })?.maskedDoc).toBe('***.982.247-**')
  expect(of({ nome: 'Loja', cnpj: '12ABC34501DE35', codigoBanco: '99999999' })).toEqual({
    name: 'Loja',
    maskedDoc: '**.ABC.345/****-**',
    bank: '99999999',
  })
  expect(of({ cpf: '52998224725' })).toBeNull()
})

test('a return has an id, an amount and a time, or is counted as unreadable', () => {
  const returned = { rtrId: 'D1', valor: '4.00', horario: AT }
  const nested = { rtrId: 'D2', valor: 4, horario: { solicitacao: AT, liquidacao: null } }
  const devolucoes = [returned, nested, { ...returned, rtrId: null }, { ...returned, valor: 'x' }]
  const { returns, unreadable } = readPayout({ devolucoes })
  const common = { amount: 400, returnedAt: new Date(AT) }
  expect(returns).toEqual([
    { id: 'D1', ...common },
    { id: 'D2', ...common },
  ])
  expect(unreadable).toBe(2)
})

test('a failure has its code where the bank names it', () => {
  const erro = { codigo: 'AC03', origem: 'SPI', motivo: 'Conta inexistente' }
  const failure = { spiCode: 'AC03', text: 'Conta inexistente' }
  expect(readPayout({ gnExtras: { erro } }).failure).toEqual(failure)
  expect(readPayout({ erro }).failure).toEqual(failure)
  expect(readPayout({ motivo: 'Negado' }).failure).toEqual({ spiCode: '', text: 'Negado' })
})

test.each<[unknown, number | null]>([
  ['100.00', 10_000],
  [12.5, 1_250],
  ['-0.01', -1],
  ['0.00', 0],
  ['', null],
  ['-', null],
  [null, null],
  ['1e3', null],
])('a balance of %j is %j', (saldo, cents) => {
  expect(centsOfBalance({ saldo })).toBe(cents)
})

test.each<[string, object[]]>([
  ['REALIZADO', [{ amount: 1_000 }]],
  ['EM_PROCESSAMENTO', []],
  ['NAO_REALIZADO', [{ amount: 1_000, isFailed: true }]],
  ['A_NEW_STATUS', []],
])('of a payout with the status %s the list of those that have ended has %j', (status, listed) => {
  const payout = {
    idEnvio: 'a'.repeat(32),
    valor: '10.00',
    status,
    favorecido: { chave: 'a@b.co' },
    endToEndId: `E${'1'.repeat(31)}`,
    horario: { solicitacao: AT },
  }
  const { items, unreadable } = SENT_PAYOUTS.read({ pix: [payout] })
  expect({ items, unreadable }).toMatchObject({ items: listed, unreadable: 0 })
})
