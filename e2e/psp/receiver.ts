import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { readPair } from './certificates.ts'
import type { RunningBank } from './start.ts'

interface Notice {
  path: string
  /** Common name of the caller's certificate; null without one that the bank's authority signed. */
  caller: string | null
  // biome-ignore lint/suspicious/noExplicitAny: tests read any field of a notice
  body: any
}

export interface Receiver {
  url: string
  notices: Notice[]
  /** Status of further responses. */
  status: number
  /** Further responses wait for it. */
  hold: Promise<void>
  close(): Promise<void>
}

/** Opens an HTTPS server that receives notices; without a certificate, it responds with 403. */
export async function openReceiver({ certificates }: RunningBank): Promise<Receiver> {
  const options = {
    ...readPair(certificates.receiver),
    ca: readFileSync(certificates.authority.cert),
    requestCert: true,
    rejectUnauthorized: false,
  }
  const server = createServer(options, async (request, response) => {
    const socket = request.socket as TLSSocket
    const name = socket.authorized ? socket.getPeerCertificate().subject.CN : null
    const caller = Array.isArray(name) ? name.join() : (name ?? null)
    const text = Buffer.concat(await request.toArray()).toString()
    receiver.notices.push({ path: request.url ?? '', caller, body: JSON.parse(text) })
    await receiver.hold
    response.writeHead(caller === null ? 403 : receiver.status).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const receiver: Receiver = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/notices`,
    notices: [],
    status: 200,
    hold: Promise.resolve(),
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
  return receiver
}
