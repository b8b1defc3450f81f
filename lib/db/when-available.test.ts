import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { setupError } from '#lib/core/errors.ts'
import { env } from '#lib/core/settings.ts'
import { StoppedError, whenAvailable } from '#lib/db/when-available.ts'
import { withClient } from '#lib/db/with-client.ts'
import { findFreePort } from '#lib/testing/server.ts'

/** Makes the tests' database reachable at a port that is closed until `open` is called. */
async function placeBehindPort() {
  const url = new URL(env().DATABASE_URL ?? '')
  const [host, port] = [url.hostname, Number(url.port)]
  const server = createServer(socket => {
    const upstream = connect(port, host)
    socket.pipe(upstream).pipe(socket)
    for (const end of [socket, upstream]) end.on('error', () => {})
  })
  url.hostname = '127.0.0.1'
  url.port = String(await findFreePort())
  const open = async () => {
    server.listen(Number(url.port), '127.0.0.1')
    await once(server, 'listening')
    return server.address() as AddressInfo
  }
  const select = () =>
    withClient(url.href, 'DATABASE_URL', async client => (await client.query('SELECT 1')).rowCount)
  return { select, open, host: url.host, close: () => server.close() }
}

test('a start waits for a database that comes late, and says why once', async () => {
  const place = await placeBehindPort()
  const lines: string[] = []
  const report = (line: string) => {
    lines.push(line)
    place.open()
  }
  const rows = await whenAvailable(place.select, { maxSeconds: 60, report })
  place.close()
  expect(rows).toBe(1)
  const [line = '', ...others] = lines
  expect(others).toEqual([])
  expect(line).toMatch(/ is unreachable \(ECONNREFUSED\): .*\. Waiting for it, 60 s at most$/)
  expect(line).toContain(place.host)
})

test('without time to wait, or if something else is wrong, the start ends at once', async () => {
  const lines: string[] = []
  const report = (line: string) => void lines.push(line)
  const { select } = await placeBehindPort()
  await expect(whenAvailable(select, { maxSeconds: 0, report })).rejects.toThrow('is unreachable')
  const fail = () => Promise.reject(setupError('fsync is off'))
  await expect(whenAvailable(fail, { maxSeconds: 60, report })).rejects.toThrow('fsync is off')
  expect(lines).toEqual([])
})

test('a request to stop ends the wait between two attempts and during one', async () => {
  const { select } = await placeBehindPort()
  const { promise: stopRequested, resolve: report } = Promise.withResolvers<unknown>()
  const patience = { maxSeconds: 3_600, stopRequested, report }
  await expect(whenAvailable(select, patience)).rejects.toThrow(StoppedError)
  const hang = () => new Promise(() => {})
  await expect(whenAvailable(hang, patience)).rejects.toThrow(StoppedError)
})
