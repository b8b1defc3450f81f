import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import openapiTypes, { astToString } from 'openapi-typescript'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Api, startApiWithMerchant } from '../../lib/testing/fixtures.ts'
import { runShop } from './shop.ts'

const SHOP_SOURCE = readFileSync('e2e/client/shop.ts', 'utf8')
const FOLDER = '.cache/client'

let api: Api
let token: string
beforeAll(async () => {
  ;({ api, token } = await startApiWithMerchant())
  const document = await (await fetch(`${api.url}/api/openapi.json`)).json()
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'api.d.ts'), astToString(await openapiTypes(document)))
})
afterAll(() => api.close())

/** One mistake each in the shop program, with the text that the compiler must report. */
const MISTAKES: Record<string, [right: string, wrong: string, sign: string]> = {
  'a field that does not exist': ['client_name:', 'client_nome:', 'client_nome'],
  'a wrong type': ['amount: 5_000', "amount: '5000'", "'string' is not assignable"],
  'an unknown value': ["outcome: 'paid'", "outcome: 'payed'", '"payed"'],
  'a path that does not exist': ["'/account'", "'/accounts'", '"/accounts"'],
  'a missing parameter': ['{ params: { path } }))', '{}))', "'params' is missing"],
  'an unknown field of a response': [').balance', ').saldo', "'saldo' does not exist"],
  'a field of another event': [
    'event.transaction.amount',
    'event.withdrawal.amount',
    "'withdrawal' does not exist",
  ],
}

/** Compiles programs against the generated types and returns the compiler's output. */
async function compile(programs: Record<string, string>): Promise<string> {
  const compilerOptions = {
    target: 'es2024',
    lib: ['es2024', 'dom'],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    types: [],
    allowImportingTsExtensions: true,
  }
  for (const [file, text] of Object.entries(programs)) writeFileSync(join(FOLDER, file), text)
  const settings = JSON.stringify({ compilerOptions, files: Object.keys(programs) })
  writeFileSync(join(FOLDER, 'tsconfig.json'), settings)
  return promisify(execFile)('node_modules/.bin/tsc', ['-p', FOLDER, '--pretty', 'false']).then(
    ({ stdout }) => stdout,
    ({ stdout }) => stdout,
  )
}

describe('a client generated from the OpenAPI document', () => {
  test('compiles, and each mistake in a client program is a compile error', async () => {
    const wrong = Object.values(MISTAKES).map(([right, mistake], index) => {
      expect(SHOP_SOURCE).toContain(right)
      return [`wrong-${index}.ts`, SHOP_SOURCE.replace(right, mistake)]
    })
    const output = await compile({ 'shop.ts': SHOP_SOURCE, ...Object.fromEntries(wrong) })
    expect(output).not.toContain('/shop.ts')
    for (const [index, [name, [, , message]]] of Object.entries(MISTAKES).entries()) {
      const lines = output.split(/\n(?=\S)/).filter(line => line.includes(`wrong-${index}.ts`))
      expect(lines.join('\n'), name).toContain(message)
    }
  })

  test('creates, pays, refunds and withdraws through the API', async () => {
    const shop = await runShop(`${api.url}/api`, token)
    const { charge, paid, refund, withdrawal } = shop
    expect(charge).toMatchObject({ amount: 5_000, status: 'pending', metadata: { order: 1048 } })
    expect(paid).toMatchObject({ transaction_id: charge.transaction_id, status: 'paid' })
    expect(shop.read).toEqual(paid)
    expect(shop.page).toEqual({ data: [paid], next_cursor: null })
    expect(refund).toMatchObject({ amount: 1_000, transaction_id: charge.transaction_id })
    expect(shop.refunds).toMatchObject({ data: [{ id: refund.id }], next_cursor: null })
    expect(shop.readRefund).toMatchObject(refund)
    expect(withdrawal).toMatchObject({ status: 'pending', pix_key_type: 'email' })
    expect(shop.approved).toMatchObject({ id: withdrawal.id, status: 'approved' })
    expect(shop.withdrawals).toMatchObject({ data: [{ id: withdrawal.id }] })
    expect(shop.readWithdrawal).toEqual(shop.approved)
    expect(shop.problems).toEqual({ amount: ['Insufficient balance'] })
    expect(shop.eventSummaries).toEqual(['paid 5000', 'approved ana@example.com'])
    expect(shop.gained).toBe(5_000 - 1_000 - 1_500)
  })
})
