import { createSocket, type Socket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { resolveName } from '#lib/webhooks/target.ts'

const A_RECORD_TYPE = 1
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.close()
})

/** Starts a DNS server. `lookUp` returns the IPv4 address of a name, or null for no response. */
async function makeResolver(lookUp: (name: string) => string | 'unknown' | null) {
  const socket = createSocket('udp4')
  sockets.push(socket)
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.on('message', (query, { port, address }) => {
    const name = readName(query)
    const result = lookUp(name)
    if (result === null) return
    const type = query.readUInt16BE(12 + name.length + 2)
    const isAnswered = result !== 'unknown' && type === A_RECORD_TYPE
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(result === 'unknown' ? 0x8183 : 0x8180, 2)
    head.writeUInt16BE(isAnswered ? 1 : 0, 6)
    head.writeUInt16BE(0, 10)
    const question = query.subarray(12, 12 + name.length + 2 + 4)
    const record = Buffer.from([
      0xc0,
      12,
      0,
      1,
      0,
      1,
      0,
      0,
      0,
      0,
      0,
      4,
      ...result.split('.').map(Number),
    ])
    socket.send(Buffer.concat([head, question, ...(isAnswered ? [record] : [])]), port, address)
  })
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return resolver
}

function readName(query: Buffer): string {
  const labels: string[] = []
  for (let offset = 12; query[offset]; offset += (query[offset] ?? 0) + 1) {
    labels.push(query.subarray(offset + 1, offset + 1 + (query[offset] ?? 0)).toString())
  }
  return labels.join('.')
}

test('a name resolves to the addresses that its DNS servers return', async () => {
  const resolver = await makeResolver(() => '203.0.113.7')
  expect(await resolveName('shop.example', resolver)).toEqual([
    { address: '203.0.113.7', family: 4 },
  ])
})

test('unknown names are resolved by the operating system, localhost without any DNS query', async () => {
  const queried: string[] = []
  const resolver = await makeResolver(name => {
    queried.push(name)
    return 'unknown'
  })
  await expect(resolveName('nobody.invalid', resolver)).rejects.toThrow()
  expect(queried).toContain('nobody.invalid')
  const addresses = await resolveName('localhost', resolver)
  expect(addresses.map(({ address }) => address)).toContain('127.0.0.1')
  expect(queried).not.toContain('localhost')
})

test('a hundred names with silent DNS servers time out without delaying others', async () => {
  const silent = await makeResolver(() => null)
  const prompt = await makeResolver(() => '203.0.113.7')
  const names = Array.from({ length: 100 }, (_, index) => `hangs${index}.example`)
  let settled = 0
  const hanging = names.map(name =>
    resolveName(name, silent)
      .catch(error => error.code)
      .finally(() => {
        settled++
      }),
  )
  expect(await resolveName('shop.example', prompt)).toHaveLength(1)
  expect(await resolveName('localhost', prompt)).not.toEqual([])
  expect(settled).toBe(0)
  expect(new Set(await Promise.all(hanging))).toEqual(new Set(['ETIMEOUT']))
})
