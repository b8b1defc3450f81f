import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import { serveBankNotice } from '#lib/edge/server/bank-notices.ts'
import { registerAdapter } from '#lib/services/gateway/adapters.ts'
import { readNoticeAddress } from '#lib/services/gateway/notice-address.ts'
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
