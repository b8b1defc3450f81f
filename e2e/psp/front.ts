import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Certificates, readPair } from './certificates.ts'

/**
 * Opens HTTPS to Troco with a certificate that the bank trusts, in place of an installation's proxy.
 * `X-Client-Verify` is `SUCCESS` for the bank's certificate, as nginx says it. Returns the port.
 */
export async function openFront(
  certificates: Certificates,
  troco: string,
  port: number,
): Promise<number> {
  const { hostname, port: trocoPort } = new URL(troco)
  const options = {
    ...readPair(certificates.receiver),
    ca: readFileSync(certificates.authority.cert),
    requestCert: true,
    rejectUnauthorized: false,
  }
  const server = createServer(options, (incoming, response) => {
    const { method, url: path, headers, socket } = incoming
    const { authorized, remoteAddress } = socket as TLSSocket
    const forwardedFor = [headers['x-forwarded-for'], remoteAddress].filter(Boolean).join(', ')
    const verdict = authorized ? 'SUCCESS' : 'NONE'
    const own = { 'x-forwarded-for': forwardedFor, 'x-client-verify': verdict }
    const sent = { hostname, port: trocoPort, path, method, headers: { ...headers, ...own } }
    const upstream = request(sent, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(response)
    })
    upstream.on('error', () => response.destroy())
    incoming.pipe(upstream)
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}
