import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Troco } from '../client/troco.ts'
import type { TestAccount, TrocoServer } from './index.d.ts'

const PROGRAM = 'packages/testing/index.cjs'
const { startTroco } = createRequire(import.meta.url)('./index.cjs') as {
  startTroco: () => Promise<TrocoServer>
}

const CHARGE = {
  amount: 4_990,
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
  external_id: 'order-1',
}

// Before the tests below join it: this one needs the server to itself.
test('the server ends after the process that started it was killed', async () => {
  const source = `const { startTroco } = require('./${PROGRAM}')
    startTroco().then(({ url }) => console.log(url))`
  // Settings of the program under test: its own databases and servers, which this one must not reach.
  const settings = {
    DATABASE_DIRECT_URL: 'postgresql://shop:secret@127.0.0.1:1/shop',
    REDIS_URL: 'redis://127.0.0.1:1',
    SMTP_URL: 'no address',
    PGOPTIONS: '-c nothing=1',
  }
  const child = spawn(process.execPath, ['-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...settings },
  })
  const [line] = await once(child.stdout, 'data')
  const url = String(line).trim()
  const isUp = () => fetch(`${url}/healthz`).then(Boolean, () => false)
  expect(await isUp()).toBe(true)
  child.kill('SIGKILL')
  await expect.poll(isUp).toBe(false)
})

describe('an account of the server for tests', () => {
  let server: TrocoServer
  let document: { 'x-error-codes': { code: string }[] }
  beforeAll(async () => {
    server = await startTroco()
    document = await (await fetch(`${server.api}/openapi.json`)).json()
  })
  afterAll(() => server.close())

  async function openAccount(options: { balance?: number } = {}) {
    const account = await server.account(options)
    return { account, troco: new Troco({ url: account.url, token: account.token }) }
  }

  test('has a balance, and refunds, returns and disputes as they are asked for', async () => {
    const { account, troco } = await openAccount({ balance: 10_000 })
    expect(await troco.account()).toEqual({ name: 'Loja de teste', balance: 10_000 })
    const held = { ...CHARGE, client_email: 'hold@example.com' }
    await troco.charges.create(held, { key: 'order-1' })
    await account.pay('order-1')
    const refund = await troco.refunds.createFull('order-1', {}, { key: 'refund-1' })
    expect(await account.refuse(refund.id)).toMatchObject({ status: 'rejected' })
    const transfer = { amount: 2_000, pix_key: 'ana@example.com' }
    const withdrawal = await troco.withdrawals.create(transfer, { key: 'payout-1' })
    await account.approve(withdrawal.id)
    await account.returnWithdrawal(withdrawal.id, 500)
    const dispute = await account.dispute('order-1', 990)
    await account.closeDispute(dispute.id, 'lost')
    expect((await troco.account()).balance).toBe(10_000 + 4_990 - 2_000 + 500 - 990)
    await account.assertLedger()
  })

  test('stores the requests of its programs', async () => {
    const { troco } = await openAccount()
    await expect(troco.charges.get('order-1')).rejects.toMatchObject({ status: 404 })
    const read = async () => (await troco.requests.list().page()).data
    await expect
      .poll(async () => (await read()).map(({ code }) => code))
      .toContain('transaction_not_found')
  })

  test('receives signed webhooks, each once, and says what came instead', async () => {
    const { account, troco } = await openAccount()
    await troco.charges.create(CHARGE, { key: 'order-1' })
    await account.pay('order-1')
    const { event, headers, body } = await account.webhooks.next('transaction.paid')
    expect(new Webhook(account.webhookSecret).verify(body, headers)).toEqual(event)
    const waiting = account.webhooks.next('withdrawal.approved', { timeoutMs: 50 })
    await expect(waiting).rejects.toThrow('no webhook withdrawal.approved within 50 ms')
  })

  test('lets time pass for itself alone: charges expire, keys end, webhooks are sent again', async () => {
    const [one, other] = await Promise.all([openAccount(), openAccount()])
    for (const { troco } of [one, other]) await troco.charges.create(CHARGE, { key: 'order-1' })
    const { created_at } = await one.troco.charges.get('order-1')
    await one.account.clock.advance('25h')
    await one.account.webhooks.next('transaction.expired')
    const charge = await one.troco.charges.get('order-1')
    expect(charge).toMatchObject({ status: 'expired', created_at })
    expect(await other.troco.charges.get('order-1')).toMatchObject({ status: 'pending' })
    const next = { ...CHARGE, external_id: 'order-2' }
    const repeated = one.troco.charges.create(next, { key: 'order-1' })
    expect(await repeated).not.toMatchObject({ transaction_id: charge.transaction_id })
    await expect(other.troco.charges.create(next, { key: 'order-1' })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    })
  })

  test('lets time pass for refunds and their keys', async () => {
    const { account, troco } = await openAccount()
    await troco.charges.create(CHARGE, { key: 'order-1' })
    await account.pay('order-1')
    const refundOne = (amount: number) =>
      troco.refunds.create('order-1', { amount }, { key: 'refund-1' })
    const first = await refundOne(1)
    const { paid_at } = await troco.charges.get('order-1')
    await account.clock.advance('29d')
    expect(await refundOne(1)).toMatchObject({ id: first.id })
    await account.clock.advance('2d')
    expect(await refundOne(2)).not.toMatchObject({ id: first.id })
    await account.clock.advance('60d')
    await expect(
      troco.refunds.create('order-1', { amount: 1 }, { key: 'refund-2' }),
    ).rejects.toMatchObject({ code: 'refund_window_closed' })
    expect((await troco.charges.get('order-1')).paid_at).toBe(paid_at)
  })

  test('sends a webhook again that the program under test refused', async () => {
    const { account, troco } = await openAccount()
    const { url, events } = await openReceiver([500])
    await account.webhooks.forwardTo(url)
    await troco.charges.create(CHARGE, { key: 'order-1' })
    await account.pay('order-1')
    await expect.poll(() => events.length).toBe(1)
    await expect
      .poll(async () => {
        await account.clock.advance('10m')
        return events.length
      })
      .toBe(2)
    expect(events[1]).toEqual(events[0])
  })

  test.each([
    ['a status', 503 as const, 0],
    ['a timeout before it takes effect', 'timeoutBefore' as const, 0],
    ['a timeout after it took effect', 'timeoutAfterCommit' as const, 1],
  ])('fails once with %s', async (_, effect, count) => {
    const { account } = await openAccount()
    const troco = new Troco({ url: account.url, token: account.token, attempts: 1 })
    await account.fault({ path: '/transactions', method: 'POST', once: effect })
    const first = troco.charges.create(CHARGE, { key: 'order-1' })
    await expect(first).rejects.toMatchObject({ isRetryable: true })
    expect((await troco.charges.list().page()).data).toHaveLength(count)
    await troco.charges.create(CHARGE, { key: 'order-1' })
    expect((await troco.charges.list().page()).data).toHaveLength(1)
  })

  test.each([
    [429, 'too_many_requests'],
    [500, 'internal_error'],
    [503, 'service_unavailable'],
  ])('fails with %i as the product does', async (status, code) => {
    const { account } = await openAccount()
    const troco = new Troco({ url: account.url, token: account.token, attempts: 1 })
    await account.fault({ path: '/account', once: status })
    const codes = document['x-error-codes'].map(one => one.code)
    expect(codes).toContain(code)
    await expect(troco.account()).rejects.toMatchObject({ status, code, isRetryable: true })
  })

  test('refuses what is new while its bank is down, and reads go on', async () => {
    const { account } = await openAccount()
    const troco = new Troco({ url: account.url, token: account.token, attempts: 1 })
    await account.bank.down()
    await expect(troco.charges.create(CHARGE, { key: 'one' })).rejects.toMatchObject({
      code: 'service_unavailable',
    })
    expect((await troco.account()).balance).toBe(0)
    await account.bank.up()
    await troco.charges.create(CHARGE, { key: 'one' })
  })

  describe('hands webhooks on', () => {
    async function payThree(account: TestAccount, troco: Troco) {
      for (const number of [1, 2, 3]) {
        const external_id = `order-${number}`
        await troco.charges.create({ ...CHARGE, external_id }, { key: external_id })
        await account.pay(external_id)
        await account.webhooks.next('transaction.paid')
      }
    }
    const ordersOf = (events: Event[]) => events.map(({ transaction }) => transaction.external_id)

    test('twice', async () => {
      const { account, troco } = await openAccount()
      const { url, events } = await openReceiver()
      await account.webhooks.forwardTo(url)
      await account.webhooks.duplicate()
      await payThree(account, troco)
      await expect.poll(() => ordersOf(events)).toHaveLength(4)
      expect(events[1]).toEqual(events[0])
    })

    test('in another order, or not at all', async () => {
      const { account, troco } = await openAccount()
      const { url, events } = await openReceiver()
      await account.webhooks.forwardTo(url)
      await account.webhooks.reorder()
      await payThree(account, troco)
      await expect.poll(() => ordersOf(events)).toEqual(['order-2', 'order-1', 'order-3'])
      await account.webhooks.drop(1)
      const external_id = 'order-4'
      await troco.charges.create({ ...CHARGE, external_id }, { key: external_id })
      await account.pay(external_id)
      await account.webhooks.next('transaction.paid')
      await troco.charges.create({ ...CHARGE, external_id: 'order-5' }, { key: 'order-5' })
      await account.pay('order-5')
      await expect.poll(() => ordersOf(events).at(-1)).toBe('order-5')
      expect(ordersOf(events)).not.toContain('order-4')
    })

    test('after a forged copy, whose signature does not match', async () => {
      const { account, troco } = await openAccount()
      const { url, bodies } = await openReceiver()
      await account.webhooks.forwardTo(url)
      await account.webhooks.tamper()
      await troco.charges.create(CHARGE, { key: 'order-1' })
      await account.pay('order-1')
      await expect.poll(() => bodies.length).toBe(2)
      const webhook = new Webhook(account.webhookSecret)
      const isGenuine = ({ body, headers }: (typeof bodies)[number]) => {
        try {
          return Boolean(webhook.verify(body, headers))
        } catch {
          return false
        }
      }
      expect(bodies.map(isGenuine)).toEqual([false, true])
    })
  })

  test('is refused what cannot be understood', async () => {
    const { account } = await openAccount()
    await expect(account.clock.advance('soon')).rejects.toThrow('advance must be a duration')
    await expect(account.fault({ path: 'x', once: 503 })).rejects.toThrow('path must begin with /')
    await expect(server.account({ balance: 0.5 })).rejects.toThrow('whole number of cents')
  })

  test.each([
    ['another origin', { origin: 'https://page.example' }],
    ['its own origin', { origin: () => server.url }],
    ['an image of a page', { 'sec-fetch-site': 'cross-site' }],
    ['a name that leads to this machine', { host: 'page.example' }],
  ])('is not driven by a browser: %s', async (_, given) => {
    const { account } = await openAccount()
    const [[name = '', value = ''] = []] = Object.entries<string | (() => string)>(given)
    const headers = { [name]: typeof value === 'string' ? value : value() }
    const send = (method: string, path: string, more = {}) =>
      new Promise<number | undefined>((resolve, reject) => {
        const outgoing = request(server.url + path, { method, headers: more }, response => {
          response.destroy()
          resolve(response.statusCode)
        })
        outgoing.on('error', reject).end()
      })
    for (const [method, path] of [
      ['GET', '/testing/alive'],
      ['POST', '/testing/accounts'],
      ['GET', `/testing/accounts/${account.id}/ledger`],
    ] as const) {
      expect(await send(method, path), path).toBe(200)
      expect(await send(method, path, headers), path).toBe(403)
    }
  })

  test.each<[string, (account: TestAccount) => Promise<[string, string]>]>([
    [
      'a path that is no address',
      async () => [server.url, 'GET // HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'],
    ],
    [
      'a webhook that is cut off within its body',
      async ({ id, url, token }) => {
        const [endpoint] = await new Troco({ url, token }).webhooks.endpoints.list()
        return [
          endpoint?.url ?? '',
          `POST /${id} HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\n{`,
        ]
      },
    ],
  ])('survives %s', async (_, build) => {
    const { account } = await openAccount()
    const [to, text] = await build(account)
    const socket = connect(Number(new URL(to).port), '127.0.0.1')
    socket.resume().end(text)
    await once(socket, 'close')
    expect((await fetch(to, { method: 'POST' })).status).toBeGreaterThan(199)
    expect(await fetch(`${server.url}/healthz`)).toMatchObject({ status: 200 })
  })

  test("a shop's own tests run on node:test", async () => {
    const files = ['packages/testing/examples/shop.test.mjs']
    const { stdout } = await promisify(execFile)(process.execPath, ['--test', ...files])
    expect(stdout).toMatch(/pass 3\n.*fail 0/s)
  })
})

interface Event {
  transaction: { external_id: string }
}

/** Opens a program under test that responds with these statuses, then with 204. */
async function openReceiver(statuses: number[] = []) {
  const events: Event[] = []
  const bodies: { body: string; headers: Record<string, string> }[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    events.push(JSON.parse(body))
    bodies.push({ body, headers: request.headers as Record<string, string> })
    response.writeHead(statuses.shift() ?? 204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, events, bodies }
}
