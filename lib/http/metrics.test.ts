import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { METRICS } from '#lib/core/metrics.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { disconnect, pool } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { startMetrics } from '#lib/http/metrics.ts'
import { call } from '#lib/testing/call.ts'
import { CHARGE, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { findFreePort } from '#lib/testing/server.ts'

let origin: string
let token: string
let stop: () => void
beforeAll(async () => {
  token = await makeToken((await makeMerchant()).id)
  const front = await createFront(async ({ url }, response) => {
    if (url === '/home/never') response.socket?.destroy()
    else response.end('a page')
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  supplyEnv({ METRICS_PORT: String(await findFreePort()) })
  stop = await startMetrics()
  return () => front.close().closeAllConnections()
})
afterAll(async () => {
  stop()
  await disconnect()
})

const address = () => `http://127.0.0.1:${env().METRICS_PORT}`
const scrape = async () => (await fetch(`${address()}/metrics`)).text()

/** Returns the value of a series, such as `troco_workers`; 0 if there is none. */
async function readValue(series: string): Promise<number> {
  const line = (await scrape()).split('\n').find(each => each.startsWith(`${series} `))
  return Number(line?.split(' ').at(-1) ?? 0)
}

test('responses are counted by the template of their path, their method and status', async () => {
  const created =
    'troco_http_requests_total{route="/transactions",method="POST",code="200",mode="test"}'
  const missing =
    'troco_http_requests_total{route="/transactions/{id}",method="GET",code="404",mode="test"}'
  const before = [await readValue(created), await readValue(missing)]
  const charge = await call(origin, 'POST', '/transactions', { token, body: CHARGE })
  expect(charge.status).toBe(200)
  await call(origin, 'GET', `/transactions/${newId()}`, { token })
  await call(origin, 'GET', `/transactions/${newId()}`, { token })
  await expect.poll(() => readValue(missing)).toBe((before[1] ?? 0) + 2)
  expect(await readValue(created)).toBe((before[0] ?? 0) + 1)
  const seconds = 'troco_http_request_seconds'
  const labels = 'route="/transactions",method="POST"'
  expect(await readValue(`${seconds}_bucket{${labels},le="+Inf"}`)).toBe(
    await readValue(`${seconds}_count{${labels}}`),
  )
  expect(await readValue(`${seconds}_sum{${labels}}`)).toBeGreaterThan(0)
})

test('a refusal that a merchant simulates is counted as one of test mode', async () => {
  const simulated =
    'troco_http_requests_total{route="/transactions",method="POST",code="503",mode="test"}'
  const before = await readValue(simulated)
  const body = { ...CHARGE, client_email: 'unavailable@example.com' }
  expect((await call(origin, 'POST', '/transactions', { token, body })).status).toBe(503)
  await expect.poll(() => readValue(simulated)).toBe(before + 1)
})

test('no request adds a series for what its sender chose: a path, an id, a method or a secret', async () => {
  const send = async (mark: string) => {
    const paths = [
      `/api/transactions/${mark}`,
      `/api/${mark}`,
      `/${mark}`,
      `/pay/${mark}`,
      `/api/banks/${newId()}/notices/${mark}`,
      `/receipt/${mark}`,
      `/_next/${mark}.js`,
      `/healthz?${mark}`,
      `//${mark}//`,
      `/api/auth/${mark}`,
      `/%zz${mark}`,
    ]
    for (const path of paths) await (await fetch(origin + path)).text()
    for (const header of [`Bearer troco_${mark}_x`, `Bearer ${mark}`])
      await (await fetch(origin, { headers: { authorization: header, 'troco-mode': mark } })).text()
    for (const method of ['PURGE', 'OPTIONS', 'MKCOL'])
      await (await fetch(`${origin}/api/transactions/${mark}`, { method })).text()
    await fetch(`${origin}/home/never`).catch(() => {})
  }
  const listSeries = async () =>
    (await scrape()).split('\n').filter(line => line.startsWith('troco_http_'))
  await send('first-mark')
  const first = await listSeries()
  for (let count = 0; count < 5; count++) await send(`mark-${count}-${newId()}`)
  const text = await scrape()
  expect(text).not.toMatch(/mark|never/)
  expect(text).not.toContain(token)
  expect(await listSeries()).toHaveLength(first.length)
  expect(text).toContain('route="bank notices"')
  expect(text).toContain('method="other"')
  expect(text).toContain('code="499"')
})

test('each line is one of the text format, and each metric is declared once', async () => {
  const response = await fetch(`${address()}/metrics?collect=all`)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = (await response.text()).split('\n')
  expect(lines.pop()).toBe('')
  const line =
    /^(# (HELP|TYPE) [a-z_]+ \S.*|[a-z_]+(\{([a-z]+="[^"\\\n]*",?)+\})? -?[\d.]+(e[+-]?\d+)?)$/
  for (const each of lines) expect(each).toMatch(line)
  const declared = lines.filter(each => each.startsWith('# TYPE')).map(each => each.split(' ')[2])
  expect(new Set(declared).size).toBe(declared.length)
  expect(declared.filter(name => !(name && name in METRICS))).toEqual([])
})

test('only GET /metrics is served, and the port of the API does not serve it', async () => {
  expect((await fetch(`${address()}/`)).status).toBe(404)
  expect((await fetch(`${address()}/metrics/x`)).status).toBe(404)
  expect((await fetch(`${address()}/metrics`, { method: 'POST' })).status).toBe(405)
  expect(await (await fetch(`${origin}/metrics`)).text()).toBe('a page')
})

test('an occupied port is named in one sentence', async () => {
  await expect(startMetrics()).rejects.toThrow(
    `METRICS_PORT ${env().METRICS_PORT} failed (EADDRINUSE): each process on a machine needs a port`,
  )
})

test('without the database, a scrape has what the process knows', async () => {
  const { DATABASE_URL = '' } = env()
  await disconnect()
  supplyEnv({ DATABASE_URL: `postgresql://nobody@127.0.0.1:${await findFreePort()}/none` })
  // Another server: this one may still know what it has read.
  const known = env().METRICS_PORT
  supplyEnv({ METRICS_PORT: String(await findFreePort()) })
  const stopOther = await startMetrics()
  onTestFinished(async () => {
    stopOther()
    await disconnect()
    supplyEnv({ DATABASE_URL, METRICS_PORT: String(known) })
  })
  const text = await scrape()
  expect(text).toContain('troco_database_up 0\n')
  expect(text).toMatch(/^troco_http_requests_total\{.* \d+$/m)
  expect(text).toMatch(/^troco_build_info\{version="[\d.]+",node="[\d.]+"\} 1$/m)
  expect(text).not.toContain('troco_queue_due')
})

test('statements that wait for a connection are counted', async () => {
  const max = env().DATABASE_POOL_MAX
  const held = await Promise.all(Array.from({ length: max }, () => pool().connect()))
  const waiting = Promise.all([1, 2, 3].map(() => pool().query('SELECT')))
  // A scrape may read from the database, and then waits as well.
  await expect.poll(() => readValue('troco_database_pool_waiting')).toBeGreaterThanOrEqual(3)
  expect(await readValue('troco_database_pool_connections{state="in_use"}')).toBe(max)
  for (const client of held) client.release()
  await waiting
  expect(await readValue('troco_database_pool_waiting')).toBe(0)
})
