import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type Api, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { followLog } from '#lib/testing/log-tail.ts'

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

/** Sends a request with an incomplete body and disconnects after `afterMs`. */
async function sendAndHangUp(token: string, requestId: string, afterMs: number, body: string) {
  const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  const head =
    `POST /api/transactions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
    `X-Request-Id: ${requestId}\r\n`
  await new Promise(sent => socket.write(head + body, sent))
  await sleep(afterMs)
  socket.destroy()
}

test.each([
  ['a length', 'Content-Length: 100\r\n\r\n{"a":'],
  ['chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n'],
])(
  'a request whose client disconnects within a body with %s ends and creates nothing',
  async (_, body) => {
    const merchant = await makeMerchant()
    const ids: string[] = []
    const readLog = followLog()
    for (const afterMs of [0, 1, 2, 5, 10, 20, 50, 100]) {
      // A token that is not cached, because its lookup leaves time to disconnect.
      const token = await makeToken(merchant.id)
      const id = `after-${afterMs}-ms-${newId()}`
      ids.push(id)
      await sendAndHangUp(token, id, afterMs, body)
    }
    const findResponseLines = () =>
      readLog()
        .split('\n')
        .filter(line => line.includes('"request completed"'))
        .join()
    await vi.waitFor(
      () => expect(ids.filter(id => !findResponseLines().includes(id))).toEqual([]),
      {
        timeout: 20_000,
        interval: 200,
      },
    )
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(0)
  },
)
