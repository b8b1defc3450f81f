import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { BankClient, type Token, TokenCache } from '#lib/banks/api-pix/client.ts'
import type { Reply } from '#lib/banks/api-pix/json.ts'
import { PROFILES } from '#lib/banks/api-pix/profiles.ts'
import { CLIENT, StandardBank } from '#lib/testing/standard-bank.ts'

let bank: StandardBank
beforeEach(async () => {
  bank = await new StandardBank().open()
})
afterEach(() => bank.close())

const never = new AbortController().signal
const openClient = (profile: object = {}, credentials: object = {}) =>
  new BankClient({
    ...bank.clientOptions(profile, credentials as Record<string, unknown>),
    lookup: lookup as LookupFunction,
  })
const ask = (client: BankClient, signal = never) =>
  client.call({ method: 'GET', path: '/cob/x', query: { a: 'b' } }, signal)
const tokenRequests = () => bank.requests.filter(({ path }) => path === '/oauth/token')

describe('a token', () => {
  test('is requested once for calls that begin together, and used again', async () => {
    const client = openClient()
    await Promise.all(Array.from({ length: 8 }, () => ask(client)))
    await ask(client)
    expect(tokenRequests()).toHaveLength(1)
  })

  test('that the bank refuses is renewed once for all calls, which are repeated', async () => {
    const client = openClient()
    await ask(client)
    bank.revokeTokens()
    const replies = await Promise.all(Array.from({ length: 8 }, () => ask(client)))
    expect(replies).toEqual(replies.map(() => expect.objectContaining({ status: 404 })))
    expect(tokenRequests()).toHaveLength(2)
  })

  test('that is refused although it is new ends the call, after one repetition', async () => {
    bank.script.push({ status: 401, body: {} }, { status: 401, body: {} })
    const client = openClient()
    expect(await ask(client)).toMatchObject({ status: 401 })
    expect(bank.requests.map(({ path }) => path)).toEqual([
      '/oauth/token',
      '/v2/cob/x',
      '/oauth/token',
      '/v2/cob/x',
    ])
  })

  test('that the bank does not give is why the call is not made', async () => {
    bank.tokenScript.push({ status: 400, body: { error: 'invalid_client' } })
    const reply = await ask(openClient())
    expect(reply).toMatchObject({ isAboutToken: true, status: 400 })
    expect(bank.requests).toHaveLength(1)
  })

  test('is not lost for others when the call that asked for it is aborted', async () => {
    const client = openClient()
    const aborter = new AbortController()
    const [aborted, other] = [ask(client, aborter.signal), ask(client)]
    aborter.abort()
    expect(await aborted).toMatchObject({ kind: 'failure', isSent: false, code: 'ABORTED' })
    expect(await other).toMatchObject({ status: 404 })
    expect(tokenRequests()).toHaveLength(1)
  })

  test.each<[string, unknown, number]>([
    ['a minute before its end', 3_600, 3_540_000],
    ['a minute before its end, given as text', '600', 540_000],
    ['after half of a short life', 100, 50_000],
    ['after 240 s if the bank names no end', null, 240_000],
  ])('is renewed %s', async (_, expires_in, usedMs) => {
    let [now, count] = [1_000, 0]
    const request = async (): Promise<Reply> => {
      count += 1
      return { kind: 'response', status: 200, body: { access_token: `t${count}`, expires_in } }
    }
    const cache = new TokenCache(request, () => now)
    const first = await cache.get()
    expect(first).toMatchObject({ token: 't1' })
    now += usedMs - 1
    expect(await cache.get()).toMatchObject({ token: 't1' })
    now += 1
    expect(await cache.get()).toMatchObject({ token: 't2' })
    // Refused late: somebody else has renewed it since.
    expect(await cache.get(first as Token)).toMatchObject({ token: 't2' })
  })
})

describe('the token request of a profile', () => {
  const basic = `Basic ${Buffer.from(`${CLIENT.client_id}:${CLIENT.client_secret}`).toString('base64')}`
  test.each<[string, string | undefined, string]>([
    ['efi', basic, '{"grant_type":"client_credentials"}'],
    ['bradesco', basic, 'grant_type=client_credentials'],
    [
      'itau',
      undefined,
      `grant_type=client_credentials&client_id=${CLIENT.client_id}&client_secret=${CLIENT.client_secret}`,
    ],
  ])('%s', async (name, authorization, text) => {
    await ask(openClient(PROFILES[name]))
    expect(tokenRequests()[0]?.headers.authorization).toBe(authorization)
    expect(tokenRequests()[0]?.text).toBe(text)
  })

  test('names its scopes, and no secret where there is none', async () => {
    await ask(openClient(PROFILES.sicoob, { clientSecret: undefined }))
    const fields = new URLSearchParams(tokenRequests()[0]?.text)
    expect(fields.get('scope')?.split(' ')).toContain('pix.write')
    expect([fields.get('client_id'), fields.has('client_secret')]).toEqual([
      CLIENT.client_id,
      false,
    ])
  })
})

describe('a call', () => {
  test('has the headers and the query of its profile', async () => {
    await ask(openClient(PROFILES['banco-do-brasil'], { appKey: 'key-of-the-app' }))
    await ask(openClient(PROFILES.itau))
    await ask(openClient(PROFILES.sicoob))
    const calls = bank.requests.filter(({ path }) => path === '/v2/cob/x')
    expect(String(calls[0]?.query)).toBe('gw-dev-app-key=key-of-the-app&a=b')
    expect(calls[1]?.headers['x-correlationid']).toMatch(/^[0-9a-f-]{36}$/)
    expect(calls[2]?.headers.client_id).toBe(CLIENT.client_id)
  })

  test('has in its reply no secret that the bank repeats in an error', async () => {
    const client = openClient()
    await ask(client)
    const [token = ''] = bank.tokens
    const detail = `Bearer ${token} of ${CLIENT.client_secret}`
    bank.script.push({ status: 400, body: { detail } })
    expect(await ask(client)).toMatchObject({ body: { detail: 'Bearer *** of ***' } })
    const encoded = Buffer.from(`${CLIENT.client_id}:${CLIENT.client_secret}`).toString('base64')
    bank.tokenScript.push({ status: 400, body: { error_description: `Basic ${encoded}` } })
    expect(await ask(openClient())).toMatchObject({ body: { error_description: 'Basic ***' } })
  })

  test('is not made above the rate of its profile', async () => {
    const client = openClient({ requestsPerSecond: 1 })
    const replies = await Promise.all(Array.from({ length: 5 }, () => ask(client)))
    const paced = replies.filter(reply => reply.kind === 'failure' && reply.code === 'PACED')
    expect(paced.length).toBeGreaterThan(0)
    expect(paced[0]).toMatchObject({ isSent: false, retryAfterMs: expect.any(Number) })
  })

  test.each([
    ['seconds', '7', 7_000],
    ['more than an hour', '86400', 3_600_000],
    ['a date', 'Mon, 01 Jan 2001 00:00:00 GMT', 0],
    ['nonsense', 'soon', undefined],
    ['a number that is neither', '1.5', undefined],
  ])('knows the pause that the bank wants: %s', async (_, header, pause) => {
    bank.script.push({ status: 429, text: '<html>', headers: { 'retry-after': header } })
    const { retryAfterMs } = await ask(openClient())
    expect(retryAfterMs).toBe(pause)
  })
})
