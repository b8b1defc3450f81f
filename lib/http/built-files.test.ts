import { once } from 'node:events'
import { mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { compressBuild } from '#bin/prepare.mjs'
import { disconnect } from '#lib/db/client.ts'
import { createFront } from '#lib/http/front.ts'
import { makeScratchFolder } from '#lib/testing/scratch.ts'

const SCRIPT = 'console.log("troco");'.repeat(2_000)
const FONT = Buffer.from(Array.from({ length: 5_000 }, (_, nth) => (nth * 31) % 256))

let front: Server
let origin: string
beforeAll(async () => {
  const folder = makeScratchFolder('built-files')
  mkdirSync(join(folder, 'static/chunks'), { recursive: true })
  writeFileSync(join(folder, 'static/chunks/a~1.js'), SCRIPT)
  writeFileSync(join(folder, 'static/chunks/tiny.js'), 'x')
  writeFileSync(join(folder, 'static/font.woff2'), FONT)
  writeFileSync(join(folder, 'secret.js'), 'not a file of the browser')
  await compressBuild(folder)
  writeFileSync(join(folder, 'static/large.js'), Buffer.alloc(20_000_000, 'x'))
  front = await createFront(
    async (_, response) => {
      response.writeHead(404).end('next')
    },
    { buildFolder: folder },
  )
  await once(front.listen(0, '127.0.0.1'), 'listening')
  origin = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await disconnect()
})

const SCRIPT_PATH = '/_next/static/chunks/a~1.js'

/** Node's fetch decompresses. */
function get(path: string, accepted = 'gzip, deflate, br', method = 'GET') {
  const headers = { 'accept-encoding': accepted, range: 'bytes=0-1' }
  return fetch(origin + path, { method, headers })
}

test.each([
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['br;q=0', null],
])(
  'to a client that accepts %j, a script is sent as %j, to be cached for ever',
  async (accepted, encoding) => {
    const response = await get(SCRIPT_PATH, accepted)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    })
    expect(response.headers.get('content-encoding')).toBe(encoding)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(SCRIPT)
    const head = await get(`${SCRIPT_PATH}?v=1`, accepted, 'HEAD')
    expect(await head.text()).toBe('')
    for (const name of ['content-length', 'content-encoding'])
      expect(head.headers.get(name)).toBe(response.headers.get(name))
  },
)

test('a font and a tiny script have no compressed copy', async () => {
  for (const [path, body] of [
    ['font.woff2', FONT],
    ['chunks/tiny.js', Buffer.from('x')],
  ] as const) {
    const response = await get(`/_next/static/${path}`)
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
      null,
      null,
    ])
    expect(Buffer.from(await response.arrayBuffer()).equals(body)).toBe(true)
  }
})

test.each([
  ['another file of the build', '/_next/static/../secret.js'],
  ['an encoded path', '/_next/static/%2e%2e/secret.js'],
  ['a compressed copy', `${SCRIPT_PATH}.br`],
  ['an unknown file', '/_next/static/chunks/b.js'],
])('%s is not served', async (_, path) => {
  expect(await (await get(path)).text()).not.toMatch(/not a file|console/)
})

test('any other method is refused', async () => {
  expect((await get(SCRIPT_PATH, 'br', 'POST')).status).toBe(405)
})

test.runIf(process.platform === 'linux')(
  'a client that leaves in the middle of a file holds nothing',
  async () => {
    for (let nth = 0; nth < 50; nth++) {
      const controller = new AbortController()
      const response = await fetch(`${origin}/_next/static/large.js`, { signal: controller.signal })
      expect(response.status).toBe(200)
      controller.abort()
    }
    const openFiles = () => readdirSync('/proc/self/fd').map(fd => readlink(fd))
    await vi.waitFor(
      () => expect(openFiles().filter(file => file.includes('large.js'))).toEqual([]),
      10_000,
    )
  },
)

function readlink(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}
