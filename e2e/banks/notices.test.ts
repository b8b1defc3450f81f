import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type NoticeStage, openNoticeStage } from '#e2e/banks/notice-stage.ts'
import { openAt } from '#e2e/banks/open.ts'
import { Client } from '#e2e/psp/client.ts'
import { completeSettings } from '#e2e/psp/settings.ts'
import { startBank } from '#e2e/psp/start.ts'
import {
  readNoticeAddress,
  restrictNotices,
  rotateNoticeSecret,
} from '#lib/banks/notice-address.ts'
import { registerNoticeAddress } from '#lib/banks/notices.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { openLiveCharge } from '#lib/testing/connection.ts'
import { expectBalancedLedger, makeToken, runAsOwner } from '#lib/testing/fixtures.ts'
import { changeOrder, orderOf } from '#lib/testing/orders.ts'
import { testInTorture } from '#lib/testing/torture.ts'

const ACTOR = { type: 'system' } as const

let stage: NoticeStage
let key: string
beforeAll(async () => {
  stage = await openNoticeStage()
  key = stage.bank.keys[0] ?? ''
})
afterEach(async () => {
  const { notices, habits, listsBehindMs, clockOffsetMs } = completeSettings({})
  await stage.bank.run('change', { notices, habits, listsBehindMs, clockOffsetMs })
  // Questions and readings that one test leaves would count in the next.
  await db().bankNotice.deleteMany()
  await db().paymentReading.updateMany({ data: { isWanted: false } })
  const inProgress = () => db().paymentReading.count({ where: { lease: { not: null } } })
  await expect.poll(inProgress).toBe(0)
})
afterAll(async () => {
  await expectBalancedLedger(stage.merchant.id)
  await stage.close()
})

/** Opens a charge about which the bank is asked only if a notice makes it due. */
async function openQuietCharge(amount: number): Promise<{ id: string; txid: string }> {
  const { id } = await openLiveCharge(stage.merchant, amount)
  await db().$executeRaw`
    UPDATE charges SET due_at = now() + interval '50 minutes' WHERE id = ${id}::uuid`
  return { id, txid: removeHyphens(id) }
}

async function pay(txid: string, order: object = {}): Promise<string> {
  const [payment] = await stage.bank.run('pay', { txid, ...order })
  return payment?.e2eid ?? ''
}

const chargeOf = (id: string) => db().charge.findFirstOrThrow({ where: { id } })
const statusOf = async (id: string) => (await chargeOf(id)).status
const creditsOf = (id: string) =>
  db().ledgerTransfer.findMany({ where: { subjectId: id }, select: { amount: true } })
/** Lets no test wait for the time at which the worker looks at a notice again. */
const hurry = (id: string) =>
  db().$executeRaw`UPDATE bank_notices SET due_at = now() WHERE id = ${id}`
const countNotices = (ids: string[]) => db().bankNotice.count({ where: { id: { in: ids } } })

async function countQuestions(txid: string): Promise<number> {
  const exchanges = await stage.bank.run('readTraffic', {})
  return exchanges.filter(
    ({ method, target }) => method === 'GET' && target.startsWith(`/v2/cob/${txid}`),
  ).length
}

async function countLists(): Promise<number> {
  const exchanges = await stage.bank.run('readTraffic', {})
  return exchanges.filter(({ route }) => route === '/v2/pix').length
}

describe('the address', () => {
  test('is registered once for each key, and one of somebody else is reported and left', async () => {
    const read = async () => (await stage.bank.run('readRecords')).webhooks
    expect(await read()).toMatchObject([{ key, url: stage.address.href }])
    expect(await registerNoticeAddress(stage.connectionId, ACTOR)).toEqual({
      outcome: 'ok',
      value: [{ key, host: stage.address.host, state: 'registered' }],
    })
    const foreign = 'https://other.example/hook'
    const client = new Client(stage.bank)
    await client.call('PUT', `/v2/webhook/${key}`, { webhookUrl: foreign })
    client.close()
    const register = (options?: object) => registerNoticeAddress(stage.connectionId, ACTOR, options)
    expect(await register()).toMatchObject({ value: [{ host: 'other.example', state: 'foreign' }] })
    expect(await read()).toMatchObject([{ url: foreign }])
    expect(await register({ replacesForeign: true })).toMatchObject({
      value: [{ host: 'other.example', state: 'registered' }],
    })
    expect(await read()).toMatchObject([{ url: stage.address.href }])
  })
})

describe('a notice', () => {
  test('leads to one question, and the payment is credited once', async () => {
    const { id, txid } = await openQuietCharge(1_500)
    await stage.bank.run('change', { notices: { copies: 3 } })
    const e2eid = await pay(txid)
    await expect.poll(() => statusOf(id)).toBe('paid')
    expect(await creditsOf(id)).toMatchObject([{ amount: 1_500n }])
    expect((await chargeOf(id)).endToEndId).toBe(e2eid)
    expect(await countQuestions(txid)).toBe(1)
  })

  test.each([0.01, 100])(
    'whose amount is %f times the true one credits what the bank has',
    async amountFactor => {
      const { id, txid } = await openQuietCharge(2_000)
      await stage.bank.run('change', { notices: { amountFactor } })
      await pay(txid)
      await expect.poll(() => statusOf(id)).toBe('paid')
      expect(await creditsOf(id)).toMatchObject([{ amount: 2_000n }])
    },
  )

  test('about no payment credits nothing', async () => {
    const { id, txid } = await openQuietCharge(1_500)
    const pix = [{ txid, endToEndId: `E${'7'.repeat(31)}`, valor: '15.00', chave: key }]
    await stage.bank.run('sendNotice', { key, body: JSON.stringify({ pix }) })
    await expect.poll(() => countQuestions(txid)).toBeGreaterThan(0)
    expect([await statusOf(id), await creditsOf(id)]).toEqual(['pending', []])
  })

  test('that comes before the payment is asked about again', async () => {
    const { id, txid } = await openQuietCharge(1_500)
    await stage.bank.run('change', { notices: { earlyMs: 500 } })
    await pay(txid)
    await expect.poll(() => statusOf(id)).toBe('paid')
    expect(await creditsOf(id)).toHaveLength(1)
  })

  testInTorture('that comes a thousand times leads to one question, and to no list', async () => {
    const { id, txid } = await openQuietCharge(1_500)
    await stage.bank.run('change', { notices: { isAbsent: true } })
    const endToEndId = await pay(txid)
    const listsBefore = await countLists()
    const body = JSON.stringify({ pix: [{ txid, endToEndId, valor: '15.00', chave: key }] })
    const send = () =>
      fetch(`${stage.web.url}${stage.address.pathname}/pix`, { method: 'POST', body })
    const statuses: number[] = []
    const began = performance.now()
    for (let round = 0; round < 20; round++) {
      const responses = await Promise.all(Array.from({ length: 50 }, send))
      statuses.push(...responses.map(({ status }) => status))
    }
    expect(new Set(statuses)).toEqual(new Set([200]))
    await expect.poll(() => statusOf(id)).toBe('paid')
    // A payment that is not booked after 2 s is looked for in the list, every 2 s, as on a busy machine.
    const listsMax = Math.floor((performance.now() - began) / 2_000)
    for (const noticed of [txid, endToEndId]) await hurry(noticed)
    await expect.poll(() => countNotices([txid, endToEndId])).toBe(0)
    expect(await countQuestions(txid)).toBe(1)
    expect((await countLists()) - listsBefore).toBeLessThanOrEqual(listsMax)
    expect(await creditsOf(id)).toHaveLength(1)
  })

  const suspended = (endToEndId: string) =>
    db().unmatchedPayment.findMany({ where: { endToEndId } })

  /** A payment without txid, about which the bank sends a notice. */
  async function payWithoutTxid(amount: number): Promise<string> {
    const [payment] = await stage.bank.run('pay', { key, amount })
    const body = JSON.stringify([{ endToEndId: payment?.e2eid, valor: '7.77', chave: key }])
    await stage.bank.run('sendNotice', { key, body })
    await stage.bank.run('waitForNotices')
    await hurry(payment?.e2eid ?? '')
    return payment?.e2eid ?? ''
  }

  test.each([
    ['writes local times as UTC', { habits: { hasLocalTimes: true } }],
    ['lists it an hour late', { listsBehindMs: 3_600_000 }],
    ['has a clock that is two hours behind', { clockOffsetMs: -7_200_000 }],
  ])(
    'about a payment without txid leads to a question by its id, where the bank %s',
    async (_, changes) => {
      await stage.bank.run('change', changes)
      const endToEndId = await payWithoutTxid(777)
      await expect.poll(() => suspended(endToEndId)).toMatchObject([{ amount: 777n }])
    },
  )

  test('about a payment that the bank does not find by its id leads to the list', async () => {
    const absent = { kind: 'respond', status: 404, body: '{"title":"Não encontrado"}' } as const
    await stage.bank.run('addFault', { ...absent, path: '/v2/pix/E', times: 100 })
    const endToEndId = await payWithoutTxid(778)
    await expect.poll(() => suspended(endToEndId)).toMatchObject([{ amount: 778n }])
    await stage.bank.run('clearFaults')
  })

  test('about the end of a refund completes it', async () => {
    const { id, txid } = await openQuietCharge(1_500)
    await stage.bank.run('change', { settleMs: null })
    await pay(txid)
    await expect.poll(() => statusOf(id)).toBe('paid')
    const refund = await createRefund(stage.merchant.id, 'live', id, { amount: 500 })
    const read = () => db().refund.findFirstOrThrow({ where: { id: refund.id } })
    await expect.poll(async () => (await orderOf(refund.id)).attempts).toBe(1)
    await expect.poll(async () => (await orderOf(refund.id)).lease).toBe(null)
    await changeOrder(refund.id, { dueAt: new Date(Date.now() + 50 * 60_000) })
    await stage.bank.run('settle')
    await expect.poll(async () => (await read()).status).toBe('completed')
    await stage.bank.run('change', { settleMs: 20 })
  })
})

describe('the endpoint', () => {
  const path = () => stage.address.pathname

  test.each<[string, string | Buffer]>([
    ['empty', ''],
    ['a test of the bank', '{"evento":"teste_webhook"}'],
    ['no JSON', 'ping'],
    ['not UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
    ['nested deeply', '['.repeat(500_000)],
    ['an array in arrays', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['ids that nobody has', JSON.stringify([{ txid: 'é\0', endToEndId: {}, devolucoes: [[]] }])],
    ['of one MiB', `{"pix":[],"fill":"${'x'.repeat(1024 * 1024 - 20)}"}`],
  ])('accepts a body that is %s', async (_, body) => {
    const headers = { 'content-type': 'text/plain' }
    expect((await stage.post(`${path()}/pix`, body, { headers })).status).toBe(200)
  })

  test('refuses a body above one MiB', async () => {
    const body = Buffer.alloc(1024 * 1024 + 1, 'x')
    expect((await stage.post(path(), body)).status).toBe(413)
    const behind = await fetch(stage.web.url + path(), { method: 'POST', body })
    expect(behind.status).toBe(413)
    const chunks = new Blob([body]).stream()
    const init = { method: 'POST', body: chunks, duplex: 'half' }
    expect((await fetch(stage.web.url + path(), init as RequestInit)).status).toBe(413)
  })

  test('responds to a wrong secret, an unknown id and another method as to an unknown path', async () => {
    const { connectionId } = stage
    const other = '01a20117-e1bb-75cc-8e1a-c1cce514a42c'
    const secret = path().split('/').at(-1) ?? ''
    const wrong = `${secret.slice(0, -1)}${secret.endsWith('A') ? 'B' : 'A'}`
    const unknown = await stage.post('/api/nothing/here', '')
    const shown = ({ status, text, headers }: typeof unknown) => {
      const { date, 'x-request-id': _, ...rest } = headers
      return { status, text, rest }
    }
    expect(unknown.status).toBe(404)
    for (const wrongPath of [
      `/api/banks/${connectionId}/notices/${wrong}`,
      `/api/banks/${connectionId}/notices/${wrong}/pix`,
      `/api/banks/${connectionId}/notices/${'x'.repeat(2_000)}`,
      `/api/banks/${connectionId}/notices/%20`,
      `/api/banks/${connectionId}/notices/${secret}/pix/pix`,
      `/api/banks/${other}/notices/${secret}`,
      `/api/banks/nobody/notices/${secret}`,
      `/api/banks/${connectionId.toUpperCase()}/notices/${secret}`,
      '/api/banks/00000000-0000-7000-8000-000000000001/notices/x',
    ])
      expect(shown(await stage.post(wrongPath, '{}')), wrongPath).toEqual(shown(unknown))
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(shown(await stage.post(path(), '', { method })), method).toEqual(shown(unknown))
  })

  test('can require a certificate that the proxy has verified', async () => {
    const { foreignClient, client } = stage.bank.certificates
    const address = await openConnection(id =>
      restrictNotices(id, { isCertificateRequired: true }, ACTOR),
    )
    const statusWith = async (options?: object) => (await stage.post(address, '{}', options)).status
    const forged = { headers: { 'x-client-verify': 'SUCCESS' } }
    expect(await statusWith()).toBe(200)
    expect(await statusWith({ pair: client })).toBe(200)
    expect(await statusWith({ pair: null })).toBe(403)
    expect(await statusWith({ pair: foreignClient })).toBe(403)
    expect(await statusWith({ pair: null, ...forged })).toBe(403)
  })

  test('is registered at Efí with the check of mTLS as soon as it requires a certificate', async () => {
    const efi = await startBank({ kind: 'efi', keys: [newId()] })
    const { id } = await openAt(efi, { kind: 'efi' })
    const registered = { outcome: 'ok', value: [{ state: 'registered' }] }
    const { pathname } = new URL(await readNoticeAddress(id))
    const statusWithout = async () => (await stage.post(pathname, '{}', { pair: null })).status
    // Processes learn of a connection, and of its rules, after seconds.
    const waiting = { interval: 250, timeout: 20_000 }
    await expect.poll(statusWithout, waiting).toBe(200)
    expect(await registerNoticeAddress(id, ACTOR)).toMatchObject(registered)
    await restrictNotices(id, { isCertificateRequired: true }, ACTOR)
    await expect.poll(statusWithout, waiting).toBe(403)
    expect(await registerNoticeAddress(id, ACTOR)).toMatchObject(registered)
    const exchanges = await efi.run('readTraffic', {})
    const headers = exchanges.filter(({ method, to }) => method === 'PUT' && to === 'bank')
    expect(headers.map(one => one.requestHeaders['x-skip-mtls-checking'])).toEqual([
      'true',
      undefined,
    ])
    await efi.stop()
  })

  test('can require an address, which nobody but the proxy can state', async () => {
    const [elsewhere, here] = await Promise.all(
      [
        ['203.0.113.0/24', '2001:db8::/32'],
        ['203.0.113.0/24', '127.0.0.0/8'],
      ].map(cidrs => openConnection(id => restrictNotices(id, { cidrs }, ACTOR))),
    )
    const headers = { 'x-forwarded-for': '203.0.113.7' }
    expect((await stage.post(here ?? '', '{}')).status).toBe(200)
    expect((await stage.post(elsewhere ?? '', '{}')).status).toBe(403)
    expect((await stage.post(elsewhere ?? '', '{}', { headers })).status).toBe(403)
  })

  test('accepts a new secret at once, and the old one beside it', async () => {
    const paths: string[] = []
    const rotate = async (id: string) => {
      paths.push(new URL(await rotateNoticeSecret(id, ACTOR)).pathname)
    }
    const first = await openConnection()
    const [, , , id = ''] = first.split('/')
    const statuses = () =>
      Promise.all([first, ...paths].map(async one => (await stage.post(one, '{}')).status))
    expect(await statuses()).toEqual([200])
    await rotate(id)
    expect(await statuses()).toEqual([200, 200])
  })

  /** Returns the path for notices of a new connection, about which the API has not read yet. */
  async function openConnection(prepare = async (_id: string) => {}): Promise<string> {
    const { id } = await openAt(stage.bank, { receiving_keys: [newId()] })
    await prepare(id)
    // The API reads of connections that it does not know at most once per second.
    const { pathname } = new URL(await readNoticeAddress(id))
    const isKnown = async () => [200, 403].includes((await stage.post(pathname, '{}')).status)
    await expect.poll(isKnown, { interval: 250 }).toBe(true)
    return pathname
  }

  test('limits wrong secrets by address, and right ones by no address', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.7' }
    const send = (target: string) =>
      fetch(stage.web.url + target, { method: 'POST', body: '{}', headers })
    const flood = (target: string) => Promise.all(Array.from({ length: 100 }, () => send(target)))
    const wrong = await flood(`/api/banks/${stage.connectionId}/notices/wrong`)
    expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([404, 429]))
    const right = await flood(path())
    expect(new Set(right.map(({ status }) => status))).toEqual(new Set([200]))
  })

  testInTorture('leaves time for other requests while large notices arrive', async () => {
    const token = await makeToken(stage.merchant.id)
    const body = JSON.stringify({ pix: Array(20_000).fill({ txid: 'a'.repeat(32) }) })
    let ended = 0
    const flood = Array.from({ length: 30 }, async () => {
      const { status } = await fetch(stage.web.url + path(), { method: 'POST', body })
      ended += 1
      return status
    })
    const headers = { 'x-forwarded-for': '198.51.100.8' }
    const { status } = await call(stage.web.url, 'GET', '/account', { token, headers })
    expect([status, ended < 30]).toEqual([200, true])
    // The bank repeats what is refused; how many are depends on the machine.
    const statuses = await Promise.all(flood)
    expect([200, 429, 503]).toEqual(expect.arrayContaining(statuses))
    expect(statuses).toContain(200)
  })
})

test('the secret is in no output of nginx, of the web process and of the worker', async () => {
  const { pathname } = stage.address
  const secret = pathname.split('/').at(-1) ?? ''
  expect((await stage.post(pathname, '{}')).status).toBe(200)
  expect((await stage.post(`${pathname}x`, '{}')).status).toBe(404)
  expect((await stage.post('/api/seen-by-nginx', '')).status).toBe(404)
  // nginx refuses these itself, the second one before it has chosen a location.
  const large = Buffer.alloc(2 * 1024 * 1024)
  expect((await stage.post(pathname, large).catch(() => ({ status: 413 }))).status).toBe(413)
  const headers = { 'x-large': 'x'.repeat(40_000) }
  expect((await stage.post(pathname, '', { headers })).status).toBe(400)
  await runAsOwner('ALTER TABLE bank_notices RENAME TO notices_away')
  expect((await stage.post(pathname, '{"pix":[{"txid":"a"}]}')).status).toBe(500)
  await expect.poll(stage.readWorkerLog).toContain('job failed')
  await runAsOwner('ALTER TABLE notices_away RENAME TO bank_notices')
  const before = stage.readLogs()
  await stage.web.close()
  expect((await stage.post(pathname, '{}')).status).toBe(502)
  const logs = before + stage.readLogs()
  for (const seen of ['/api/seen-by-nginx', 'request completed', 'notice of a bank refused'])
    expect(logs).toContain(seen)
  expect(logs.includes(secret)).toBe(false)
  expect(logs).not.toContain('/api/banks')
})
