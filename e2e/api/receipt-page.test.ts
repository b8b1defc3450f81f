import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { createChargeReceiptUrl } from '#lib/charges/urls.ts'
import { newId, newRoutableId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { createReceiptUrl, parseReceipt, RECEIPT_PATH } from '#lib/receipts/sign.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CANARY,
  expectBalancedLedger,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { RECEIPT_FACTS } from '#lib/testing/receipts.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { createWithdrawalReceiptUrl, findWithdrawal } from '#lib/withdrawals/queries.ts'

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Padaria <São João>')
  token = await makeToken(merchant.id)
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const OTHER_PAYMENT = newEndToEndId()

function pathOf(url: string | null): string {
  return new URL(url ?? '').pathname
}

/** Pays a new charge and returns its id and the path of its receipt. */
async function payCharge(amount = 123_456) {
  const { id } = await openCharge(merchant, amount)
  const paid = await simulateCharge(merchant.id, id, 'paid')
  return { id, paid, path: pathOf(await createChargeReceiptUrl(paid)) }
}

async function fetchPage(path: string, init: RequestInit = {}) {
  const headers = { 'accept-language': 'pt-BR', ...init.headers }
  const response = await fetch(api.url + path, { ...init, headers, redirect: 'manual' })
  const text = await response.text()
  const outcome = /data-outcome="(\w+)"/.exec(text)?.[1]
  return { status: response.status, headers: response.headers, text, outcome }
}

function expectNobodyNamed(text: string): void {
  const named = [CANARY.document, CANARY.formattedDocument, 'Ana Beatriz', 'ana@example.com']
  for (const value of [...named, 'Padaria', merchant.id]) expect(text).not.toContain(value)
}

async function payOut() {
  await payCharge(50_000)
  const key = {
    pixKeyType: 'email',
    pixKey: 'ana@example.com',
    dictKey: 'ana@example.com',
  } as const
  const { id } = await createWithdrawal(merchant.id, 'test', { ...key, amount: 5_000 })
  await call(api.url, 'POST', `/sandbox/withdrawals/${id}`, {
    token,
    body: { outcome: 'approved' },
  })
  const withdrawal = await findWithdrawal(merchant.id, 'test', id)
  return pathOf(withdrawal && (await createWithdrawalReceiptUrl(merchant.id, withdrawal)))
}

describe('the public page of a receipt', () => {
  test('shows what its URL proves, and names nobody', async () => {
    const { id, paid, path } = await payCharge()
    const { status, text, outcome } = await fetchPage(path)
    expect([status, outcome]).toEqual([200, 'agrees'])
    for (const expected of [
      ...[
        'Comprovante autêntico',
        'Pix recebido',
        'R$\u00a01.234,56',
        paid.end_to_end_id ?? '',
        id,
      ],
      'Teste: nenhum dinheiro foi movimentado',
      'Não é documento fiscal.',
      'Confira o endereço no navegador',
      'horário de Brasília',
      'não confirma nomes',
    ]) {
      expect(text).toContain(expected)
    }
    expect(text).not.toContain('<script')
    expectNobodyNamed(text)
  })

  test('of a withdrawal agrees with its record', async () => {
    expect(await fetchPage(await payOut())).toMatchObject({ status: 200, outcome: 'agrees' })
  })

  test('is in the language of the link, else of the browser', async () => {
    const { path } = await payCharge()
    expect((await fetchPage(`${path}?lang=en`)).text).toContain('Genuine receipt')
    const english = await fetchPage(path, { headers: { 'accept-language': 'en' } })
    expect(english.text).toContain('This is not a tax document.')
  })

  test('tells nobody where it was found, and is in no index or cache', async () => {
    const { path } = await payCharge()
    for (const url of [path, `${path}A`]) {
      const { headers, text } = await fetchPage(url)
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-robots-tag')).toBe('noindex, nofollow')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(text).toContain('<meta name="robots" content="noindex, nofollow">')
    }
  })

  test('shows nothing of a forged receipt', async () => {
    const { id, paid, path } = await payCharge(98_765)
    const forged = path.replace('.98765.', '.98766.')
    const { status, headers, text, outcome } = await fetchPage(forged)
    expect([status, outcome]).toEqual([404, 'forged'])
    expect(headers.get('x-error-code')).toBe('receipt_refused')
    expect(text).toContain('Comprovante inválido')
    for (const value of ['987,6', id, paid.end_to_end_id ?? '']) expect(text).not.toContain(value)
    expectNobodyNamed(text)
  })

  test.each<[string, (path: string) => string]>([
    ['cut', path => path.slice(0, -1)],
    ['appended', path => `${path}A`],
    ['a second segment', path => `${path}/A`],
    ['percent-encoded', path => path.replace('.', '%2E')],
    ['a percent sign that encodes nothing', path => `${path}%`],
    ['a NUL', path => `${path}%00`],
    ['in parameters', path => `/receipt/x?x=${path.slice(9)}`],
    ['in capitals', path => `/receipt/${path.slice(9).toUpperCase()}`],
    ['markup', () => '/receipt/%3Cscript%3Ealert(1)%3C/script%3E'],
    ['another word', () => '/receipt/x'],
  ])('refuses another spelling of the path: %s', async (_name, change) => {
    const { path } = await payCharge()
    const { status, outcome, text } = await fetchPage(change(path))
    expect([status, outcome]).toEqual([404, 'forged'])
    expect(text).not.toContain('alert(1)')
  })

  test('ignores parameters, which messengers add', async () => {
    const { path } = await payCharge()
    expect((await fetchPage(`${path}?fbclid=x&fbclid=y&amount=1`)).outcome).toBe('agrees')
  })

  test.each(['POST', 'PUT', 'DELETE'])('accepts no %s', async method => {
    const { path } = await payCharge()
    expect((await fetchPage(path, { method })).status).toBe(405)
  })

  test('says that the amount was returned, but not how much', async () => {
    const { id, path } = await payCharge(10_000)
    const refund = (cents: number) => db().$executeRaw`
      UPDATE charges SET refunded_amount = ${cents}
      WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
    await refund(4_321)
    const partly = await fetchPage(path)
    expect(partly.outcome).toBe('partly')
    expect(partly.text).not.toContain('43,21')
    await refund(10_000)
    expect((await fetchPage(path)).outcome).toBe('returned')
    await refund(0)
  })

  test('says that the record contradicts it, without the content of the record', async () => {
    const { id, path } = await payCharge(10_000)
    const other = `E${newId().replaceAll('-', '').slice(0, 31)}`
    const setEndToEndId = (value: string) => db().$executeRaw`
      UPDATE charges SET end_to_end_id = ${value}
      WHERE account_id = ${merchant.id}::uuid AND id = ${id}::uuid`
    const before = /\.(E\w{31})\./.exec(path)?.[1] ?? ''
    await setEndToEndId(other)
    const { status, outcome, text } = await fetchPage(path)
    expect([status, outcome]).toEqual([200, 'contradicts'])
    expect(text).not.toContain(other)
    await setEndToEndId(before)
    expect((await fetchPage(path)).outcome).toBe('agrees')
  })

  test.each([
    ['another payment', { endToEndId: OTHER_PAYMENT }],
    ['a second payment', { otherEndToEndId: OTHER_PAYMENT }],
  ])('says that the record of a withdrawal has %s', async (_what, data) => {
    const path = await payOut()
    const { id, endToEndId } = parseReceipt(path.slice(RECEIPT_PATH.length))?.facts ?? { id: '' }
    const where = { accountId_id: { accountId: merchant.id, id } }
    await db().withdrawal.update({ where, data })
    expect((await fetchPage(path)).outcome).toBe('contradicts')
    await db().withdrawal.update({ where, data: { endToEndId, otherEndToEndId: null } })
    expect((await fetchPage(path)).outcome).toBe('agrees')
  })

  test('has no record while the payment is pending, as after a restore', async () => {
    const order = { amount: 5_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
    const { body } = await call(api.url, 'POST', '/withdrawals', { token, body: order })
    const { id: chargeId } = await openCharge(merchant, 5_000)
    const payments = [
      { kind: 'transaction', id: chargeId },
      { kind: 'withdrawal', id: body.data.id },
    ] as const
    for (const payment of payments) {
      const facts = { ...RECEIPT_FACTS, ...payment, mode: 'test' as const, amount: 5_000 }
      expect((await fetchPage(pathOf(await createReceiptUrl(facts)))).outcome).toBe('gone')
    }
  })

  test.each(['transaction', 'withdrawal'] as const)(
    'is genuine without a record, as after a restore: %s',
    async kind => {
      const id = newRoutableId(merchant.id)
      const endToEndId = `E${newId().replaceAll('-', '').slice(1)}`
      const url = new URL(await createReceiptUrl({ ...RECEIPT_FACTS, kind, id, endToEndId }))
      const { status, outcome, text } = await fetchPage(url.pathname)
      expect([status, outcome]).toEqual([200, 'gone'])
      expect(text).toContain('não tem mais o registro')
      expect(text).not.toContain('test-ribbon')
    },
  )
})

test('the public keys verify a receipt without the server', async () => {
  const { path } = await payCharge()
  const response = await fetch(`${api.url}/.well-known/troco-receipts.json`)
  expect(response.status).toBe(200)
  expect(response.headers.get('cache-control')).toBe('public, max-age=300')
  const { keys } = (await response.json()) as { keys: (JsonWebKey & { kid: string })[] }
  const text = path.slice('/receipt/'.length)
  const parts = text.split('.')
  const [signed, signature] = [parts.slice(0, -1).join('.'), parts.at(-1) ?? '']
  const jwk = keys.find(({ kid }) => kid === parts[1])
  const algorithm = { name: 'Ed25519' }
  const key = await crypto.subtle.importKey('jwk', jwk ?? {}, algorithm, false, ['verify'])
  const verify = (content: string) =>
    crypto.subtle.verify(
      algorithm,
      key,
      Buffer.from(signature, 'base64url'),
      Buffer.from(`troco-receipt:${content}`),
    )
  expect(await verify(signed)).toBe(true)
  expect(await verify(signed.replace('123456', '123457'))).toBe(false)
  expect(JSON.stringify(keys)).not.toContain('"d"')
})
