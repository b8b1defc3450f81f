import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CANARY,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { readPdf } from '#lib/testing/pdf.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

/** As long as a name can be, in words and in one. */
const LONG_NAME = 'Ação Comércio de Pães e Confeitaria São João do Nascimento Ltda '
  .repeat(4)
  .slice(0, 255)
const LONGEST_WORD = 'W'.repeat(255)

let api: Api
let merchant: Account
let viewer: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Padaria “São João” & Filhos (matriz)')
  viewer = await signIn(merchant, 'viewer')
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

async function payCharge(changes: { clientName?: string; externalId?: string } = {}) {
  const { id } = await openCharge(merchant, 123_456)
  const where = { accountId_id: { accountId: merchant.id, id } }
  await db().charge.update({ where, data: changes })
  return simulateCharge(merchant.id, id, 'paid')
}

async function payOut(account = merchant) {
  await fundMerchant(account, 50_000)
  const key = { pixKeyType: 'cpf', pixKey: '529.982.247-25', dictKey: '52998224725' } as const
  const { id } = await createWithdrawal(account.id, 'test', { ...key, amount: 5_000 })
  const token = await makeToken(account.id)
  const body = { outcome: 'approved' }
  await call(api.url, 'POST', `/sandbox/withdrawals/${id}`, { token, body })
  const { endToEndId } = await db().withdrawal.findUniqueOrThrow({
    where: { accountId_id: { accountId: account.id, id } },
  })
  return { id, endToEndId: endToEndId ?? '' }
}

function download(path: string, query = '?locale=pt-BR', secret = viewer, account = merchant) {
  const headers = pageHeaders(secret, account.id)
  return call(api.url, 'GET', `/dashboard/${path}/receipt${query}`, { headers })
}

describe('the PDF of a receipt', () => {
  test('of a payment says who received what from whom, and masks the document', async () => {
    const { id, end_to_end_id } = await payCharge()
    const { status, headers, text } = await download(`charges/${id}`)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/pdf')
    expect(headers.get('content-disposition')).toBe(`attachment; filename="comprovante-${id}.pdf"`)
    const pdf = await readPdf(text)
    for (const expected of [
      'Comprovante',
      'Padaria “São João” & Filhos (matriz)',
      'Pix recebido',
      'R$ 1.234,56',
      'Recebido em',
      'Pagador informado na',
      'Ana Beatriz Rocha',
      end_to_end_id ?? '',
      id,
      'Teste: nenhum dinheiro foi movimentado',
      'Não é documento fiscal.',
      'GMT-3',
    ]) {
      expect(pdf.text).toContain(expected)
    }
    for (const document of [CANARY.document, CANARY.formattedDocument]) {
      expect(pdf.text).not.toContain(document)
    }
    expect(pdf.outside(50)).toEqual([])
  })

  test('has a QR code and a link that lead to the page on which it proves itself', async () => {
    const { id } = await payCharge()
    const { text } = await download(`charges/${id}`)
    const { codes } = await readPdf(text)
    expect(codes).toHaveLength(1)
    expect(text).toContain(`/URI (${codes[0]})`)
    const { pathname } = new URL(codes[0] ?? '')
    const page = await fetch(api.url + pathname)
    expect([page.status, await page.text()]).toEqual([
      200,
      expect.stringContaining('data-outcome="agrees"'),
    ])
  })

  test('of a withdrawal masks the key, and is in English if asked for', async () => {
    const { id, endToEndId } = await payOut()
    const { status, headers, text } = await download(`withdrawals/${id}`, '?locale=en')
    expect(status).toBe(200)
    expect(headers.get('content-disposition')).toBe(`attachment; filename="receipt-${id}.pdf"`)
    const pdf = await readPdf(text)
    for (const expected of [
      'Pix sent',
      'R$ 50.00',
      '***.982.247-**',
      endToEndId,
      'This is not a tax document.',
    ]) {
      expect(pdf.text).toContain(expected)
    }
    expect(pdf.text).not.toContain('52998224725')
    const { pathname } = new URL(pdf.codes[0] ?? '')
    expect(await (await fetch(api.url + pathname)).text()).toContain('data-outcome="agrees"')
  })

  test('names the receiver as the bank did, and what came back', async () => {
    const { id } = await payOut()
    const payee = { payeeName: 'Ana Beatriz Rocha', payeeDoc: '***.982.247-**', payeeBank: 'Azul' }
    const where = { accountId_id: { accountId: merchant.id, id } }
    await db().withdrawal.update({ where, data: { ...payee, returnedAmount: 1_000 } })
    const { text } = await readPdf((await download(`withdrawals/${id}`)).text)
    for (const expected of ['Ana Beatriz Rocha', 'Azul', 'Devolvido depois', 'R$ 10,00']) {
      expect(text).toContain(expected)
    }
    await db().withdrawal.update({ where, data: { returnedAmount: 0 } })
  })

  test.each([
    ['many words', LONG_NAME],
    ['one word', LONGEST_WORD],
  ])('fits on its page with names of %s', async (_words, name) => {
    const account = await makeMerchant(name)
    const secret = await signIn(account, 'viewer')
    const { id } = await openCharge(account, 999_999_999_999)
    const where = { accountId_id: { accountId: account.id, id } }
    await db().charge.update({ where, data: { clientName: name, externalId: `${name}` } })
    await simulateCharge(account.id, id, 'paid')
    const { text } = await download(`charges/${id}`, '?locale=pt-BR', secret, account)
    const pdf = await readPdf(text)
    expect(pdf.text).toContain('R$ 9.999.999.999,99')
    expect(pdf.text).toContain(id)
    expect(pdf.outside(50)).toEqual([])
    expect(pdf.codes).toHaveLength(1)
  })

  test('is recorded in the audit log before it is sent', async () => {
    const { id } = await payCharge()
    await download(`charges/${id}`)
    const [record, ...others] = await db().auditRecord.findMany({
      where: { accountId: merchant.id, target: id, action: 'receipt.exported' },
    })
    expect(others).toEqual([])
    expect(record).toMatchObject({ actorType: 'user', after: { mode: 'test', format: 'pdf' } })
  })
})

describe('with a token', () => {
  const get = (path: string, token: string) =>
    call(api.url, 'GET', `/${path}/receipt.pdf`, { token })
  /** The time of issue is the last row above the note. */
  const withoutTime = (text: string) => text.replaceAll(/\d+ de \p{L}+ de \d{4},? .*/gu, '')

  test('a token gets the same receipt as the dashboard, without an audit record', async () => {
    const token = await makeToken(merchant.id)
    const [{ id, external_id }, { id: payoutId }] = [await payCharge(), await payOut()]
    for (const [path, page] of [
      [`transactions/${id}`, `charges/${id}`],
      [`transactions/${external_id}`, `charges/${id}`],
      [`withdrawals/${payoutId}`, `withdrawals/${payoutId}`],
    ] as const) {
      const { status, headers, text } = await get(path, token)
      expect([status, headers.get('content-type')]).toEqual([200, 'application/pdf'])
      const [own, shown] = [await readPdf(text), await readPdf((await download(page)).text)]
      expect(withoutTime(own.text)).toBe(withoutTime(shown.text))
      expect(own.codes).toEqual(shown.codes)
    }
    const records = await db().auditRecord.findMany({
      where: { accountId: merchant.id, target: { in: [id, payoutId] } },
    })
    const exports = records.filter(({ action }) => action === 'receipt.exported')
    expect(exports.map(({ actorType }) => actorType)).toEqual(['user', 'user', 'user'])
  })

  test('it is in English if asked for; before the payment there is none', async () => {
    const token = await makeToken(merchant.id)
    const { id } = await payCharge()
    const { text } = await call(api.url, 'GET', `/transactions/${id}/receipt.pdf?locale=en`, {
      token,
    })
    expect((await readPdf(text)).text).toContain('Pix received')
    const { id: pending } = await openCharge(merchant)
    expect(refusal(await get(`transactions/${pending}`, token))).toEqual([
      404,
      '{"error":"Receipt not found"}',
      'receipt_not_found',
    ])
  })

  test('a member gets it there, too, as an export that is recorded', async () => {
    const { id } = await payCharge()
    const { id: payoutId } = await payOut()
    for (const path of [`transactions/${id}`, `withdrawals/${payoutId}`]) {
      const headers = pageHeaders(viewer, merchant.id)
      const response = await call(api.url, 'GET', `/${path}/receipt.pdf`, { headers })
      expect([response.status, response.headers.get('cache-control')]).toEqual([
        200,
        'private, no-store',
      ])
    }
    const where = { target: { in: [id, payoutId] }, action: 'receipt.exported' }
    expect(await db().auditRecord.count({ where })).toBe(2)
  })

  test('an approved withdrawal of which the bank named two payments has none', async () => {
    const token = await makeToken(merchant.id)
    const { id } = await payOut()
    const where = { accountId_id: { accountId: merchant.id, id } }
    await db().withdrawal.update({ where, data: { otherEndToEndId: 'E2' } })
    expect(refusal(await get(`withdrawals/${id}`, token))).toEqual([
      404,
      '{"error":"Receipt not found"}',
      'receipt_not_found',
    ])
  })

  test('without transactions:read the receipt of a charge is refused', async () => {
    const token = await makeToken(merchant.id, { permissions: ['withdrawals:read'] })
    const { id } = await payCharge()
    const { status, body } = await get(`transactions/${id}`, token)
    expect([status, body]).toEqual([403, { error: 'Permission denied: transactions:read' }])
  })
})

describe('no receipt', () => {
  const notFound = (error: string, code: string) => [404, JSON.stringify({ error }), code]

  test('exists of a charge that is not paid', async () => {
    const { id } = await openCharge(merchant)
    const response = await download(`charges/${id}`)
    expect(refusal(response)).toEqual(notFound('Receipt not found', 'receipt_not_found'))
    expect(await db().auditRecord.count({ where: { target: id } })).toBe(0)
  })

  test('of another account is found', async () => {
    const stranger = await makeMerchant('Vizinha')
    const secret = await signIn(stranger, 'owner')
    const [{ id }, { id: payoutId }] = [await payCharge(), await payOut()]
    const charge = await download(`charges/${id}`, '?locale=en', secret, stranger)
    expect(refusal(charge)).toEqual(notFound('Transaction not found', 'transaction_not_found'))
    const payout = await download(`withdrawals/${payoutId}`, '?locale=en', secret, stranger)
    expect(refusal(payout)).toEqual(notFound('Withdrawal not found', 'withdrawal_not_found'))
  })

  test('is made in a language that does not exist', async () => {
    const { id } = await payCharge()
    expect((await download(`charges/${id}`, '?locale=fr')).status).toBe(422)
    expect((await download(`charges/${id}`, '')).status).toBe(422)
  })
})
