import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Client } from './client.ts'
import { type RunningBank, startBank } from './start.ts'

const DAY_MS = 86_400_000

let folder: string
let bank: RunningBank
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bank-'))
  bank = await startBank({ ports: [0, 0, 0], troco: 'http://127.0.0.1:1' }, { folder })
})
afterAll(async () => {
  await bank.stop()
  rmSync(folder, { recursive: true })
})

const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const endOf = (name: string) =>
  Date.parse(new X509Certificate(JSON.parse(read(name)).certificate).validTo)

test('a bank that is started by hand has a certificate for months, and one that has expired', () => {
  expect(endOf('credentials.json') - Date.now()).toBeGreaterThan(300 * DAY_MS)
  expect(endOf('expired-credentials.json')).toBeLessThan(Date.now())
})

test('a bank that is started again in its folder has the same address and credentials', async () => {
  const before = [bank.port, bank.controlPort, bank.trocoPort]
  const files = ['settings.json', 'credentials.json'].map(read)
  await bank.stop()
  bank = await startBank(
    { ports: before as [number, number, number], troco: 'http://127.0.0.1:1' },
    { folder },
  )
  expect([bank.port, bank.controlPort, bank.trocoPort]).toEqual(before)
  expect(['settings.json', 'credentials.json'].map(read)).toEqual(files)
  const client = new Client(bank)
  expect((await client.signIn()).status).toBe(200)
  client.close()
})

test('HTTPS to Troco proves who calls, also against a caller who says so', async () => {
  const requests: { path?: string; headers: IncomingMessage['headers']; body: string }[] = []
  const troco = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    requests.push({ path: request.url, headers: request.headers, body })
    response.writeHead(requests.length === 1 ? 200 : 418).end('brewed')
  })
  await new Promise<void>(resolve => troco.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(troco.address() as AddressInfo).port}`
  const { notices, authority } = bank.certificates
  const ca = readFileSync(authority.cert)
  const other = await startBank({ ports: [0, 0, 0], troco: address }, { folder })
  const front = { ...other, url: `https://127.0.0.1:${other.trocoPort}` }
  const pair = { cert: readFileSync(notices.cert), key: readFileSync(notices.key) }
  for (const tls of [{ ca, ...pair }, { ca }]) {
    const client = new Client(front, tls)
    const lie = { 'x-client-verify': 'SUCCESS', 'x-forwarded-for': '203.0.113.7' }
    await client.send('POST', '/api/banks/1?a=b', { pix: [] }, lie).then(answer => {
      expect([200, 418]).toContain(answer.status)
      expect(answer.text).toBe('brewed')
    })
    client.close()
  }
  expect(requests.map(({ headers }) => headers['x-client-verify'])).toEqual(['SUCCESS', 'NONE'])
  for (const { path, headers, body } of requests) {
    expect({ path, body }).toEqual({ path: '/api/banks/1?a=b', body: '{"pix":[]}' })
    expect(headers['x-forwarded-for']).toBe('203.0.113.7, 127.0.0.1')
  }
  await other.stop()
  troco.close()
})
