import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { settleCharges } from '#lib/charges/receive.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  expectBalancedLedger,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

const EXPORT_PATH = '/dashboard/statement/export'
/** More than one batch, so that the file is sent in several chunks. */
const ENTRY_COUNT = 2_345

let api: Api
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'owner')
  const { id } = await openCharge(merchant, 60_000)
  const account = { accountId_id: { accountId: merchant.id, id } }
  await db().charge.update({ where: account, data: { clientName: '=HYPERLINK("x");Ana & Cia' } })
  await simulateCharge(merchant.id, id, 'paid')
  const key = { pixKeyType: 'cpf', pixKey: '529.982.247-25', dictKey: '52998224725' } as const
  await createWithdrawal(merchant.id, 'test', { ...key, amount: 1_234, externalId: '+55 ref' })
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await api.close()
})

const callApi = (query: string, accountId = merchant.id) =>
  call(api.url, 'GET', `${EXPORT_PATH}?${query}`, { headers: pageHeaders(secret, accountId) })

/** Returns the text with its BOM, which text() would remove. */
async function download(query: string, callerSecret = secret, accountId = merchant.id) {
  const headers = pageHeaders(callerSecret, accountId)
  const response = await fetch(`${api.url}/api${EXPORT_PATH}?${query}`, { headers })
  const text = Buffer.from(await response.arrayBuffer()).toString()
  return { status: response.status, headers: response.headers, text }
}

test('a Portuguese CSV has a BOM, semicolons, decimal commas, no formulas and masked documents', async () => {
  const { status, headers, text } = await download('format=csv&locale=pt-BR')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect(headers.get('content-disposition')).toMatch(
    /^attachment; filename="extrato-\d{4}-\d\d-\d\d\.csv"$/,
  )
  expect(text.startsWith('\uFEFF')).toBe(true)
  const lines = text.slice(1).split('\r\n')
  expect(lines).toHaveLength(4)
  expect(lines[0]).toBe(
    'Data e hora;Descrição;Pagador ou recebedor;Referência;Identificador;Valor;Saldo',
  )
  expect(lines[1]).toMatch(
    /^\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d;Cobrança paga;"'=HYPERLINK\(""x""\);Ana & Cia";.*;600,00;600,00$/,
  )
  expect(lines[2]).toMatch(/;Saque;\*\*\*\.982\.247-\*\*;'\+55 ref;.*;-12,34;587,66$/)
  expect(text).not.toContain('52998224725')
})

test('an English CSV has commas and decimal points', async () => {
  const { text, headers } = await download('format=csv&locale=en')
  expect(headers.get('content-disposition')).toContain('filename="statement-')
  const [head, , withdrawal] = text.split('\r\n')
  expect(head).toContain('Date and time,Description,Counterparty,Reference,ID,Amount,Balance')
  expect(withdrawal).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,Withdrawal,.*,-12\.34,587\.66$/)
})

test('an OFX file has the same movements and the closing balance', async () => {
  const { text, headers } = await download('format=ofx&locale=pt-BR')
  expect(headers.get('content-type')).toBe('application/x-ofx; charset=us-ascii')
  const amounts = [...text.matchAll(/<TRNAMT>(.*?)<\/TRNAMT>/g)].map(([, amount]) => amount)
  expect(amounts).toEqual(['600.00', '-12.34'])
  const ids = [...text.matchAll(/<FITID>(.*?)<\/FITID>/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(2)
  expect(text).toContain('<BALAMT>587.66</BALAMT>')
  expect(text).toContain('=HYPERLINK("x");Ana &amp; Cia')
  expect(text).not.toMatch(/[^\r\n -~]/)
})

test('a period without movements is an empty file; OFX still has the balance', async () => {
  const past = 'period=custom&from=2020-01-01&to=2020-01-31'
  const csv = await download(`format=csv&locale=en&${past}`)
  expect(csv.text.trim().split('\r\n')).toHaveLength(1)
  const ofx = await download(`format=ofx&locale=en&${past}`)
  expect(ofx.text).not.toContain('<STMTTRN>')
  expect(ofx.text).toContain('<BALAMT>0.00</BALAMT>')
})

test('a file of several batches has every movement once, in order, and sums to the balance', async () => {
  const rich = await makeMerchant()
  const ownerSecret = await signIn(rich, 'owner')
  await bookCharges(rich, ENTRY_COUNT)
  const query = `format=csv&locale=en&period=all`
  const { text } = await download(query, ownerSecret, rich.id)
  const rows = text
    .trim()
    .split('\r\n')
    .slice(1)
    .map(line => line.split(','))
  expect(rows).toHaveLength(ENTRY_COUNT)
  let balance = 0
  for (const row of rows) {
    balance += Math.round(Number(row[5]) * 100)
    expect(row[6]).toBe((balance / 100).toFixed(2))
  }
  expect(balance).toBe((await readBalances(rich.id, 'test')).available)
})

/** Books paid charges, as when a bank reports many payments at once. */
async function bookCharges({ id: accountId }: Account, count: number): Promise<void> {
  const ids = Array.from({ length: count }, () => newId())
  await db().charge.createMany({
    data: ids.map((id, index) => ({
      accountId,
      id,
      mode: 'test',
      status: 'pending',
      amount: 1_000n + BigInt(index),
      externalId: id,
      txid: id.replaceAll('-', ''),
      brCode: 'x',
      clientName: 'Ana',
      clientEmail: 'ana@example.com',
      clientDoc: '52998224725',
      expiresAt: new Date(Date.now() + 3_600_000),
    })),
  })
  const paidAt = new Date()
  const payments = ids.map((chargeId, index) => ({
    accountId,
    chargeId,
    endToEndId: newEndToEndId(paidAt),
    paidAt,
    amount: 1_000 + index,
  }))
  // A statement with all of them can exceed its time limit on a busy machine.
  for (let at = 0; at < count; at += 200) await settleCharges(payments.slice(at, at + 200))
}

test('422 names an unknown format, an unknown language and a too long period', async () => {
  const { status, body } = await callApi(`format=pdf&locale=fr&period=${'x'.repeat(41)}`)
  expect(status).toBe(422)
  expect(Object.keys(body.errors)).toEqual(['format', 'locale', 'period'])
})

test('401 for an account in which the caller is not a member', async () => {
  const other = await makeMerchant()
  expect(refusal(await callApi('format=csv&locale=en', other.id))[0]).toBe(401)
})
