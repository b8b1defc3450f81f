import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readNoticeAddress, restrictNotices } from '#lib/banks/notice-address.ts'
import { expireBanks, registerAdapter } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { supplyEnv } from '#lib/core/settings.ts'
import { serveBankNotice } from '#lib/http/bank-notices.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, replaceBank } from '#lib/testing/connection.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

const server = createServer((request, response) => {
  const sender = { address: '127.0.0.1', requestId: newId() }
  void serveBankNotice(request, response, request.url ?? '', sender)
})
beforeAll(() => new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => new Promise(resolve => server.close(resolve)))

test('a notice is acknowledged only if the connection can be opened', async () => {
  const bank = new StubBank()
  const id = await addConnection(bank)
  const { pathname } = new URL(await readNoticeAddress(id))
  const { port } = server.address() as AddressInfo
  const notify = async () => {
    const headers = { connection: 'close' }
    const url = `http://127.0.0.1:${port}${pathname}`
    return (await fetch(url, { method: 'POST', body: '{"pix":[]}', headers })).status
  }
  registerAdapter('efi', () => null)
  expect(await notify()).toBe(503)
  replaceBank(id, bank)
  expect(await notify()).toBe(200)
})

test('a connection that requires a certificate refuses every notice once the setting of its header is gone', async () => {
  const id = await addConnection(new StubBank())
  const { pathname } = new URL(await readNoticeAddress(id))
  const { port } = server.address() as AddressInfo
  const notify = async (headers: Record<string, string>) => {
    const url = `http://127.0.0.1:${port}${pathname}`
    const options = { method: 'POST', body: '{"pix":[]}' }
    return (await fetch(url, { ...options, headers: { connection: 'close', ...headers } })).status
  }
  const verified = { 'x-client-verify': 'SUCCESS' }
  const statuses = async () => [await notify({}), await notify(verified)]
  supplyEnv({ TRUST_PROXY: '1', CLIENT_CERTIFICATE_HEADER: 'X-Client-Verify' })
  await restrictNotices(id, { isCertificateRequired: true }, { type: 'system' })
  expireBanks()
  expect(await statuses()).toEqual([403, 200])
  supplyEnv({ CLIENT_CERTIFICATE_HEADER: '' })
  expect(await statuses()).toEqual([403, 403])
  supplyEnv({ TRUST_PROXY: '0', CLIENT_CERTIFICATE_HEADER: 'X-Client-Verify' })
  expect(await statuses()).toEqual([403, 403])
  supplyEnv({ CLIENT_CERTIFICATE_HEADER: '' })
})
