import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Api, CHARGE, makeMerchant, startApi } from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'

/** Longer than the server takes to check a caller whose body has not arrived. */
const CHECKED_MS = 500

let api: Api
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  const merchant = await makeMerchant()
  headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
})
afterAll(() => api.close())

/** Opens a charge; `pauseMs` after the first bytes of the body, sends the rest. */
async function send(pauseMs: number): Promise<number> {
  const text = JSON.stringify(CHARGE)
  const length = { 'content-length': String(Buffer.byteLength(text)) }
  const sent = request(`${api.url}/api/transactions`, {
    method: 'POST',
    headers: { ...headers, ...length, 'content-type': 'application/json' },
  })
  const status = new Promise<number>((resolve, reject) => {
    sent.on('response', response => resolve(response.resume().statusCode ?? 0))
    sent.on('error', reject)
  })
  if (pauseMs > 0) {
    sent.write(text.slice(0, 5))
    await sleep(pauseMs)
    sent.end(text.slice(5))
  } else sent.end(text)
  return status
}

async function countLookups(pauseMs: number): Promise<number> {
  const queries = vi.spyOn(pg.Client.prototype, 'query')
  expect(await send(pauseMs)).toBe(200)
  const { calls } = queries.mock
  const count = calls.filter(([query]) => JSON.stringify(query)?.includes('user_sessions')).length
  queries.mockRestore()
  return count
}

test('only a body that arrives after its headers costs a second check', async () => {
  const atOnce = await countLookups(0)
  expect(atOnce).toBeGreaterThan(0)
  expect(await countLookups(CHECKED_MS)).toBe(2 * atOnce)
})
