import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApiPix } from '#lib/banks/api-pix/adapter.ts'
import { hideAddress, redactText } from '#lib/banks/record-call.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { problem, StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
beforeEach(async () => {
  bank = await new StandardBank().open()
})
afterEach(() => bank.close())

const open = () => openApiPix(bank.connection(), lookup as LookupFunction) ?? expect.unreachable()

test('no part of the secret of an address is left where a text of the bank is cut', async () => {
  const secret = 'canary'.repeat(8).slice(0, 43)
  const address = `https://pay.example.com/api/banks/${newId()}/notices/${secret}`
  const razao = `${'x'.repeat(350)} ${address}`
  bank.script.push(problem(400, 'WebhookOperacaoInvalida', [{ razao }]))
  const result = await open().registerWebhook?.(address, AbortSignal.timeout(10_000))
  const text = JSON.stringify(result)
  expect(text).toContain('WebhookOperacaoInvalida')
  expect(redactText(text, hideAddress(address))).not.toContain('canary')
})

test('a long name of a payer is hidden as it was sent to the bank', async () => {
  const payerName = `${'Ana '.repeat(49)}Pereira da Silva e Souza`
  bank.script.push(problem(400, 'CobOperacaoInvalida', [{ razao: 'nome', propriedade: 'x' }]))
  await open().createCharge(
    {
      txid: removeHyphens(newId()),
      amount: 1_500,
      expiresInSeconds: 3_600,
      merchantName: 'Padaria',
      merchantCity: 'Recife',
      payerName,
      payerEmail: 'ana@example.com',
      payerDoc: '52998224725',
    },
    AbortSignal.timeout(10_000),
  )
  const sent = bank.requests.find(({ method }) => method === 'PUT')
  const { nome } = (sent?.body.devedor ?? {}) as { nome: string }
  // The journal of `createCharge` replaces the whole name only.
  expect(redactText(`devedor ${nome} recusado`, { [payerName]: '***' })).not.toContain('Ana')
})
