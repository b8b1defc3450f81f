import { createServer } from 'node:http'
import { env } from '#lib/core/settings.ts'

/**
 * Same length as the response to a created charge, so that this server measures the cost of
 * node:http and the load generator alone.
 */
const BODY = JSON.stringify({ status: 'success', data: 'x'.repeat(320) })
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': Buffer.byteLength(BODY),
}

createServer((_request, response) => {
  response.writeHead(200, HEADERS).end(BODY)
}).listen(env().PORT, '127.0.0.1')

process.on('disconnect', () => process.exit())
