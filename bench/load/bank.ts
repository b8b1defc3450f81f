/** A bank in a process of its own, which responds to every call after the milliseconds given. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

const responseMs = Number(process.argv[2])

const server = createServer((request, response) => {
  request.resume()
  request.on('end', () => setTimeout(() => response.end('{}'), responseMs))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.((server.address() as AddressInfo).port)
process.on('disconnect', () => process.exit())
