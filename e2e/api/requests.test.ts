import { Client } from 'pg'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { env } from '#lib/core/settings.ts'
import { type LoggedRequest, RequestPage } from '#lib/dashboard/requests/schema.ts'
import { db } from '#lib/db/client.ts'
import { pruneRequests, STORED_MAX, storeRequests } from '#lib/http/request-log.ts'
import { call } from '#lib/testing/call.ts'
import {
  CHARGE,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  runAsOwner,
  startApi,
} from '#lib/testing/fixtures.ts'
import { rotateRequestLog } from '#lib/worker/prune.ts'

inOwnDatabase()

let url: string
beforeAll(async () => {
  ;({ url } = await startApi())
})

let accountId: string
let token: string
beforeEach(async () => {
  await storeRequests()
  accountId = (await makeMerchant()).id
  token = await makeToken(accountId)
})

async function list(query = ''): Promise<LoggedRequest[]> {
  await storeRequests()
  const { status, body } = await call(url, 'GET', `/requests${query}`, { token })
  expect(status).toBe(200)
  return body.data
}

test('a request from an address that its token does not allow is logged, and told no address', async () => {
  const { id } = await db().token.findFirstOrThrow({ where: { accountId } })
  const where = { accountId_id: { accountId, id } }
  await db().token.update({ where, data: { allowedAddresses: ['2001:db8::7'] } })
  const { text } = await call(url, 'GET', '/account', { token })
  expect(text).not.toContain('2001')
  await storeRequests()
  const stored = await db().requestLog.findMany({ where: { accountId } })
  expect(stored).toMatchObject([{ tokenId: id, status: 403, code: 'address_not_allowed' }])
})

test('the log has the declared form after a request for the id of a delivery, which has no UUID version', async () => {
  const id = '5d2f7c1e-9a04-0b63-1f7e-6c3a0d9b4e28'
  await call(url, 'GET', `/webhooks/deliveries/${id}`, { token })
  await storeRequests()
  const { body } = await call(url, 'GET', '/requests', { token })
  expect(RequestPage.parse(body).data).toMatchObject([{ resource_id: id, status: 404 }])
})

test('a request is logged with template, id, status, duration and token, and with bodies without personal data', async () => {
  const body = { ...CHARGE, client_name: 'Zuleica Quaresma', metadata: { note: 'Quaresma' } }
  const created = await call(url, 'POST', '/transactions', { token, body })
  await call(url, 'GET', `/transactions/${created.body.data.transaction_id}`, { token })
  const [read, write] = await list()
  const resourceId = created.body.data.transaction_id
  expect(read).toMatchObject({
    method: 'GET',
    path: '/transactions/{id}',
    resource_id: resourceId,
    status: 200,
    code: null,
    mode: 'test',
    token_name: 'test',
  })
  expect(write).toMatchObject({ method: 'POST', path: '/transactions', status: 200 })
  expect(write?.request_id).toBe(created.headers.get('x-request-id'))
  expect(write?.duration_ms).toBeGreaterThan(0)
  const detail = (await call(url, 'GET', `/requests/${write?.id}`, { token })).body.data
  expect(detail).toMatchObject({
    request_body: { amount: CHARGE.amount, client_name: '***', metadata: '***' },
    response_body: { data: { amount: CHARGE.amount, transaction_id: resourceId, br_code: '***' } },
    response_bytes: created.text.length,
  })
  const rows = JSON.stringify(await db().requestLog.findMany({ where: { accountId } }))
  for (const secret of ['Quaresma', CHARGE.client_email, CHARGE.client_doc, token, 'br.gov.bcb'])
    expect(rows).not.toContain(secret)
})

test('a reference in a path, a query string and a value in an error are not stored', async () => {
  await call(url, 'GET', '/transactions/52998224725', { token })
  await call(url, 'GET', '/refunds?ana@example.com=1', { token })
  const [unknownParameter, unknownCharge] = await list()
  expect(unknownCharge).toMatchObject({ resource_id: null, code: 'transaction_not_found' })
  expect(unknownParameter).toMatchObject({ path: '/refunds', code: 'invalid_input' })
  const rows = JSON.stringify(await db().requestLog.findMany({ where: { accountId } }))
  expect(rows).not.toMatch(/52998224725|ana@example/)
})

test('refusals are logged: permission and method; an unknown token and reading the log are not', async () => {
  const narrow = await makeToken(accountId, { permissions: ['account:read', 'requests:read'] })
  await call(url, 'GET', '/refunds', { token: narrow })
  await call(url, 'PUT', '/refunds', { token })
  await call(url, 'GET', '/account', { token: `${token}x` })
  await call(url, 'GET', '/requests', { token })
  const codes = (await list()).map(({ path, code }) => [path, code])
  expect(codes).toEqual([
    ['/refunds', 'method_not_allowed'],
    ['/refunds', 'permission_denied'],
  ])
})

test('filters and pages', async () => {
  const other = await makeToken(accountId)
  await call(url, 'GET', '/account', { token })
  await call(url, 'POST', '/transactions', { token, body: {} })
  await call(url, 'GET', '/account', { token: other })
  const [last, failed, first] = await list()
  const idsOf = async (query: string) => (await list(query)).map(({ id }) => id)
  expect(await idsOf('?status=422')).toEqual([failed?.id])
  expect(await idsOf('?status=failed')).toEqual([failed?.id])
  expect(await idsOf('?status=2xx')).toEqual([last?.id, first?.id])
  expect(await idsOf('?method=POST')).toEqual([failed?.id])
  expect(await idsOf('?path=/account')).toEqual([last?.id, first?.id])
  expect(await idsOf('?code=invalid_input')).toEqual([failed?.id])
  expect(await idsOf(`?token_id=${last?.token_id}`)).toEqual([last?.id])
  expect(await idsOf(`?created_from=${failed?.created_at}`)).toEqual([last?.id, failed?.id])
  expect(await idsOf(`?created_to=${failed?.created_at}`)).toEqual([first?.id])
  const page = (await call(url, 'GET', '/requests?limit=2', { token })).body
  expect(await idsOf(`?limit=2&cursor=${page.next_cursor}`)).toEqual([first?.id])
  const wrong = await call(url, 'GET', '/requests?status=abc', { token })
  expect(wrong.status).toBe(422)
})

test('an account and a mode see nothing of another', async () => {
  await call(url, 'GET', '/account', { token })
  const [entry] = await list()
  const live = await makeToken(accountId, { mode: 'live' })
  const foreign = await makeToken((await makeMerchant()).id)
  for (const reader of [live, foreign]) {
    expect((await call(url, 'GET', '/requests', { token: reader })).body.data).toEqual([])
    const read = await call(url, 'GET', `/requests/${entry?.id}`, { token: reader })
    expect([read.status, read.headers.get('x-error-code')]).toEqual([404, 'request_not_found'])
  }
})

test('more requests at once than the log takes are dropped, and none of them waits', async () => {
  const calls = Array.from({ length: 80 }, () => call(url, 'GET', '/account', { token }))
  const statuses = (await Promise.all(calls)).map(({ status }) => status)
  expect(statuses.filter(status => status !== 200)).toEqual([])
  expect(await list('?limit=100')).toHaveLength(50)
})

test('a batch that the database interrupts is stored at the next attempt, once', async () => {
  await call(url, 'GET', '/account', { token })
  const locker = new Client({ connectionString: env().DATABASE_URL })
  await locker.connect()
  await locker.query('BEGIN; LOCK TABLE request_log IN SHARE MODE')
  const storing = storeRequests()
  const listWaiting = () => db().$queryRaw<{ pid: number }[]>`
    SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'request_log'::regclass`
  await expect.poll(listWaiting).toHaveLength(1)
  const [waiting] = await listWaiting()
  await locker.query('SELECT pg_cancel_backend($1)', [waiting?.pid])
  await locker.query('COMMIT')
  await locker.end()
  await storing
  expect(await list()).toHaveLength(1)
})

test('an account keeps its newest requests only', async () => {
  await call(url, 'GET', '/account', { token })
  const [newest] = await list()
  await db().$executeRaw`
    INSERT INTO request_log SELECT account_id, (left(id::text, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
      mode, token_id, method, path, resource_id, status, code, duration_us, request_id, request_body,
      request_bytes, response_body, response_bytes, created_at
    FROM request_log, generate_series(1, ${STORED_MAX}) n WHERE account_id = ${accountId}::uuid`
  expect(await pruneRequests(accountId)).toBe(1)
  expect(await db().requestLog.count({ where: { accountId } })).toBe(STORED_MAX)
  expect((await list())[0]?.id).toBe(newest?.id)
  expect(await pruneRequests(accountId)).toBe(0)
})

test('partitions are made from yesterday to tomorrow, once, and those of more than 7 days ago are dropped', async () => {
  await runAsOwner(`CREATE TABLE request_log_20200102 PARTITION OF request_log
    FOR VALUES FROM ('016f6369-f800-0000-0000-000000000000') TO ('016f688f-5c00-0000-0000-000000000000')`)
  await Promise.all([rotateRequestLog(), rotateRequestLog()])
  const partitions = await db().$queryRaw<{ name: string }[]>`
    SELECT inhrelid::regclass::text AS name FROM pg_inherits
    WHERE inhparent = 'request_log'::regclass ORDER BY 1`
  const names = partitions.map(({ name }) => name)
  expect(names).toHaveLength(3)
  expect(names).not.toContain('request_log_20200102')
})
