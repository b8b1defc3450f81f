import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEfi } from '#lib/banks/efi/adapter.ts'
import type { Gateway } from '#lib/banks/gateway.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
let gateway: Gateway
beforeEach(async () => {
  bank = await new StandardBank().open()
  const connection = bank.connection({ kind: 'efi', profile: null, payingKey: 'caixa@example.com' })
  gateway = openEfi(connection, lookup as LookupFunction) ?? expect.unreachable()
})
afterEach(() => bank.close())

const id = removeHyphens(newId())
const endToEndId = newEndToEndId()
const horario = '2026-11-20T12:00:00.000Z'
const AMOUNT = { valor: '12.34' }
/** Additions of API Pix 2.10.0, and some that no version has. */
const NEW_FIELDS = {
  finalidadeMED: 'CONTESTACAO',
  natureza: 'NATUREZA_NOVA',
  tipo: 'TIPO_NOVO',
  encerramento: { rejeicao: { codigo: 'AP15', motivo: 'MOTIVO_NOVO' } },
}
const payment = { endToEndId, ...AMOUNT, horario, txid: id, ...NEW_FIELDS }
const refund = {
  id,
  rtrId: `D${endToEndId.slice(1)}`,
  ...AMOUNT,
  horario: { solicitacao: horario },
}
const payout = { idEnvio: id, endToEndId, ...AMOUNT, favorecido: { chave: 'ana@example.com' } }
const charge = { txid: id, valor: { original: '12.34' }, ...NEW_FIELDS }
const dispute = { idInfracao: 'abc', endToEndId, valor: 12.34, ...NEW_FIELDS }
const page = { parametros: { paginacao: { quantidadeDePaginas: 1 } } }

type Ask = (signal: AbortSignal) => Promise<unknown>
const getCharge: Ask = async signal => {
  const result = await gateway.getCharges([id], signal)
  return result.outcome === 'ok' ? { value: result.value.states.get(id) } : result
}
const ORDER = { id, amount: 1_234 }
const getRefund: Ask = signal => gateway.getRefund({ ...ORDER, endToEndId }, signal)
const getPayout: Ask = signal => gateway.getPayout({ ...ORDER, dictKey: 'ana@example.com' }, signal)
const since = new Date(Date.parse(horario) - 60_000)
const listPayments: Ask = async signal => gateway.listPayments?.(since, null, signal)
const listDisputes: Ask = async signal => gateway.listDisputes?.(since, null, signal)
const refused = (bankText: string) => ({ state: 'refused', code: 'unspecified', bankText })

test.each<[string, Ask, object, object]>([
  ['a charge', getCharge, { ...charge, status: 'EM_ANALISE' }, { state: 'open' }],
  [
    'a paid charge',
    getCharge,
    { ...charge, status: 'STATUS_NOVO', pix: [payment] },
    { state: 'paid', payments: [{ endToEndId, amount: 1_234 }] },
  ],
  ['a payment in a list', listPayments, { ...page, pix: [payment] }, { items: [{ endToEndId }] }],
  ['a refund', getRefund, { ...refund, ...NEW_FIELDS, status: 'EM_ANALISE' }, { state: 'taken' }],
  ['a payout', getPayout, { ...payout, ...NEW_FIELDS, status: 'EM_ANALISE' }, { state: 'taken' }],
  [
    'a dispute in a list',
    listDisputes,
    { ...page, infracoes: [{ ...dispute, status: 'EM_MEDIACAO' }] },
    { items: [{ id: 'abc', state: 'open', amount: 1_234 }] },
  ],
  ...['AP15', 'AGFSS', 'CODIGO_NOVO'].flatMap((code): [string, Ask, object, object][] => [
    [
      `a refund that failed with ${code}`,
      getRefund,
      { ...refund, status: 'NAO_REALIZADO', motivo: code },
      refused(code),
    ],
    [
      `a payout that failed with ${code}`,
      getPayout,
      { ...payout, status: 'NAO_REALIZADO', gnExtras: { erro: { codigo: code, motivo: code } } },
      refused(code),
    ],
  ]),
])('%s is read although it has unknown values, which end nothing', async (_, ask, body, value) => {
  // A list may be read in several windows: each has the same page.
  bank.script.push(...Array(4).fill({ status: 200, body }))
  expect(await ask(AbortSignal.timeout(10_000))).toMatchObject({ value })
})
