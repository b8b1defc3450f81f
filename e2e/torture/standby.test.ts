import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OwnPostgres, removeOwnPostgres } from '#e2e/torture/own-postgres.ts'
import { openPostgresStage, type PostgresStage } from '#e2e/torture/own-stage.ts'
import { newId } from '#lib/core/ids.ts'
import { call } from '#lib/testing/call.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { CHARGE, fundMerchant, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { startTroco } from '#lib/testing/process.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { makeToken as makeTokenText } from '#lib/tokens/authenticate.ts'

const UNAVAILABLE = [503, 'service_unavailable']

let stage: PostgresStage
beforeAll(async () => {
  const postgres = await OwnPostgres.make()
  await postgres.start()
  stage = await openPostgresStage(postgres)
})
afterAll(async () => {
  await stage?.close()
  await removeOwnPostgres()
})

/** Starts the database again as what a former primary becomes: a standby, here without news. */
async function becomeStandby(): Promise<void> {
  await stage.postgres.stop()
  writeFileSync(join(stage.postgres.location, 'standby.signal'), '')
  await stage.postgres.start({ hot_standby: 'on' })
}

test('a former primary that became a standby answers no request, so that none gets an older state', async () => {
  const token = await makeToken((await makeMerchant()).id)
  const other = await makeToken((await makeMerchant()).id)
  const send = async (method: string, path: string, sender = token, body?: object) => {
    const answer = await call(stage.api.url, method, path, { token: sender, body })
    return [answer.status, answer.headers.get('x-error-code')]
  }
  const { body } = await call(stage.api.url, 'POST', '/transactions', { token, body: CHARGE })
  const { transaction_id: id } = body.data
  const { payment_url } = (await call(stage.api.url, 'GET', `/transactions/${id}`, { token })).body
    .data
  const readPage = async (suffix: string) => {
    const page = await fetch(`${stage.api.url}${new URL(payment_url).pathname}${suffix}`)
    await page.arrayBuffer()
    return page.status
  }
  const requests: Parameters<typeof send>[] = [
    ['GET', `/transactions/${id}`],
    ['GET', `/transactions/${newId()}`],
    ['GET', '/transactions'],
    ['GET', '/account'],
    ['GET', `/withdrawals/${newId()}`],
    ['GET', '/events?after=0'],
    // Its token has not been seen by this process, as one that was created a moment ago.
    ['GET', '/account', other],
    ['POST', '/transactions', token, CHARGE],
    ['POST', `/sandbox/transactions/${id}`, token, { outcome: 'paid' }],
    ['POST', `/sandbox/transactions/${newId()}`, token, { outcome: 'paid' }],
    ['POST', `/transactions/${newId()}/cancel`],
    ['POST', `/transactions/${newId()}/refunds`, token, {}],
  ]
  const before = await Promise.all(requests.slice(0, 6).map(request => send(...request)))
  expect(before.map(([status]) => status)).toEqual([200, 404, 200, 200, 404, 200])
  expect([await readPage(''), await readPage('?state')]).toEqual([200, 200])
  await becomeStandby()
  for (const request of requests)
    expect([request, await send(...request)]).toEqual([request, UNAVAILABLE])
  expect(await send('GET', '/account', makeTokenText(newId(), 'test'))).toEqual(UNAVAILABLE)
  // A payer who is sent to a charge that this server does not have yet must not read that it is missing.
  expect([await readPage(''), await readPage('?state')]).toEqual([503, 503])
})

test('a worker that starts there says so in one line, and works once it is a primary', async () => {
  const TROCO_DATA = makeScratchFolder('troco-standby-')
  const { url } = stage.postgres
  const DATABASE_OWNER_URL = ownerUrlOf(url)
  const settings = { DATABASE_URL: url, DATABASE_OWNER_URL, TROCO_DATA }
  const { child, output, ended } = startTroco(['worker'], settings)
  await expect.poll(output).toContain('The database is a standby')
  expect(output().trim().split('\n')).toHaveLength(1)
  await stage.postgres.asSuperuser('SELECT pg_promote()')
  await expect.poll(output).toContain('The worker is running')
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
  const token = await makeToken((await makeMerchant()).id)
  const { status } = await call(stage.api.url, 'GET', '/account', { token })
  expect(status).toBe(200)
})

test.each([
  ['/transactions', CHARGE],
  ['/withdrawals', WITHDRAWAL],
])(
  'POST %s whose commit was cancelled while it waited for a replica is unknown, and its key gives one answer',
  async (path, body) => {
    const merchant = await makeMerchant()
    await fundMerchant(merchant, 10_000)
    const token = await makeToken(merchant.id)
    const send = () =>
      call(stage.api.url, 'POST', path, { token, body, headers: { 'idempotency-key': 'one' } })
    const waitFor = async (replica: string) => {
      await stage.postgres.asSuperuser(`ALTER SYSTEM SET synchronous_standby_names = '${replica}'`)
      await stage.postgres.asSuperuser('SELECT pg_reload_conf()')
      // Servers read the configuration a moment later, each for itself.
      const shown = () => stage.postgres.asSuperuser('SHOW synchronous_standby_names')
      await expect.poll(shown).toContainEqual({ synchronous_standby_names: replica })
    }
    await waitFor('replica')
    expect((await send()).status).toBe(503)
    await waitFor('')
    await expect.poll(async () => (await send()).status).toBe(200)
    const { text } = await send()
    expect((await send()).text).toBe(text)
    const list = await call(stage.api.url, 'GET', path, { token })
    const isOfRequest = ({ amount }: { amount: number }) => amount === body.amount
    expect(list.body.data.filter(isOfRequest)).toHaveLength(1)
  },
)
