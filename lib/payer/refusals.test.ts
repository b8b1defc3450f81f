import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { paymentUrl } from '#lib/charges/urls.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect } from '#lib/db/client.ts'
import { closeRateLimits } from '#lib/http/rate-limit.ts'
import {
  type Api,
  makeDatabase,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { issueReceipt } from '#lib/testing/receipts.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const { DATABASE_URL = '' } = env()
const NO_RATE_LIMIT = { RATE_IP_PER_SECOND: '0', RATE_IP_BURST: '0' }

let api: Api
let address: string
beforeAll(async () => {
  api = await startApi()
  const { id } = await openCharge(await makeMerchant())
  address = api.url + new URL(paymentUrl(id)).pathname
})
afterEach(async () => {
  await disconnect()
  supplyEnv({ DATABASE_URL, ...NO_RATE_LIMIT })
  closeRateLimits()
})
afterAll(() => api.close())

async function requestPage(path = address) {
  const response = await fetch(path, { headers: { 'accept-language': 'pt-BR' } })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

test('the page of a receipt is limited like the others, and says when it cannot check', async () => {
  const receipt = `${api.url}/receipt/${await issueReceipt()}`
  supplyEnv({ RATE_IP_PER_SECOND: '2', RATE_IP_BURST: '2' })
  closeRateLimits()
  const responses = await Promise.all(Array.from({ length: 6 }, () => requestPage(receipt)))
  expect(responses.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(2)
  supplyEnv(NO_RATE_LIMIT)
  closeRateLimits()
  await disconnect()
  supplyEnv({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
  const { status, headers, text } = await requestPage(receipt)
  expect([status, headers.get('x-error-code')]).toEqual([503, 'service_unavailable'])
  expect(text).toContain('Não conseguimos conferir o comprovante agora')
  expect(text).not.toContain('data-outcome')
})

describe('a payer page that reloads itself', () => {
  test("is returned when the client's network exceeds the rate limit", async () => {
    supplyEnv({ RATE_IP_PER_SECOND: '2', RATE_IP_BURST: '2' })
    closeRateLimits()
    const responses = await Promise.all(Array.from({ length: 6 }, () => requestPage()))
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(2)
    for (const { headers, text } of refused) {
      expect(headers.get('retry-after')).toBe('1')
      expect(headers.get('x-error-code')).toBe('too_many_requests')
      expect(headers.get('ratelimit-policy')).toBe('"ip";q=2;w=1')
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(text).toContain('Muitos acessos ao mesmo tempo')
      expect(text).toContain('<meta http-equiv="refresh" content="1">')
    }
  })

  test('is returned while the database is unavailable, and the charge once it is back', async () => {
    await disconnect()
    supplyEnv({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
    const { status, headers, text } = await requestPage()
    expect([status, headers.get('retry-after')]).toEqual([503, '5'])
    expect(headers.get('x-error-code')).toBe('service_unavailable')
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(text).toContain('Não conseguimos mostrar a cobrança agora')
    expect(text).toContain('<meta http-equiv="refresh" content="5">')
    expect(text).not.toContain('<script')
    await disconnect()
    supplyEnv({ DATABASE_URL })
    expect((await requestPage()).status).toBe(200)
  })
})

test('an unexpected error has its code, on both pages', async () => {
  const receipt = `${api.url}/receipt/${await issueReceipt()}`
  await disconnect()
  supplyEnv({ DATABASE_URL: await makeDatabase({ migrated: false }) })
  for (const page of [address, receipt]) {
    const { status, headers } = await requestPage(page)
    expect([status, headers.get('x-error-code')]).toEqual([500, 'internal_error'])
  }
})

testInTorture('two hundred payers behind one IP address may poll every three seconds', async () => {
  supplyEnv({ RATE_IP_PER_SECOND: '200', RATE_IP_BURST: '400' })
  closeRateLimits()
  const responses = await Promise.all(
    Array.from({ length: 200 }, () => requestPage(`${address}?state`)),
  )
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]))
})
