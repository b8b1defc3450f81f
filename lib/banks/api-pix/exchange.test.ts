import type { IncomingMessage, ServerResponse } from 'node:http'
import { Agent, createServer, type Server } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EXCHANGE_LIMITS, type Exchange, exchange } from '#lib/banks/api-pix/client.ts'
import { Authority } from '#lib/testing/authority.ts'

const [authority, stranger] = [new Authority(), new Authority('Another authority')]
afterAll(() => {
  authority.close()
  stranger.close()
})
const [bankIdentity, identity] = [authority.issue(), authority.issue('customer')]

type Respond = (request: IncomingMessage, response: ServerResponse) => void
let server: Server
let respond: Respond
let received: IncomingMessage[]
let sockets: Set<Socket>
const agents: Agent[] = []

beforeEach(async () => {
  respond = (_, response) => response.end('{}')
  received = []
  sockets = new Set()
  const options = { ...bankIdentity, ca: authority.cert, requestCert: true }
  server = createServer(options, (request, response) => {
    received.push(request)
    respond(request, response)
  })
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  for (const agent of agents.splice(0)) agent.destroy()
  server.close()
  server.closeAllConnections()
})

const openAgent = (options: object = {}) => {
  const agent = new Agent({ keepAlive: true, ca: authority.cert, ...identity, ...options })
  agents.push(agent)
  return agent
}
const call = (
  agent = openAgent(),
  {
    method = 'GET' as 'GET' | 'PUT',
    signal = new AbortController().signal,
    limits = {},
    port = (server.address() as AddressInfo).port,
  } = {},
): Promise<Exchange> => {
  const url = new URL(`https://localhost:${port}/cob`)
  return exchange(agent, { method, url, headers: {} }, signal, { ...EXCHANGE_LIMITS, ...limits })
}
const failure = (isSent: boolean, code: unknown) => ({ kind: 'failure', isSent, code })

test('one connection serves several requests, and presents the certificate', async () => {
  const agent = openAgent()
  const subjects: string[] = []
  respond = (request, response) => {
    const socket = request.socket as Socket & { getPeerCertificate(): { subject: { CN: string } } }
    subjects.push(socket.getPeerCertificate().subject.CN)
    response.end('{"a":1}')
  }
  expect(await call(agent)).toMatchObject({ kind: 'response', status: 200, text: '{"a":1}' })
  await call(agent, { method: 'PUT' })
  expect([subjects, sockets.size]).toEqual([['customer', 'customer'], 1])
})

test('a redirect is a response like any other', async () => {
  respond = (_, response) => response.writeHead(302, { location: '/elsewhere' }).end()
  expect(await call()).toMatchObject({ kind: 'response', status: 302 })
  expect(received).toHaveLength(1)
})

describe('a failure before the handshake has sent nothing:', () => {
  test('a refused connection', async () => {
    const { port } = server.address() as AddressInfo
    await new Promise(resolve => server.close(resolve))
    expect(await call(openAgent(), { port })).toEqual(failure(false, 'ECONNREFUSED'))
  })

  test('a bank of another authority', async () => {
    const result = await call(openAgent({ ca: stranger.cert }))
    expect(result).toEqual(failure(false, expect.stringMatching(/SIGNATURE|CERT/)))
    expect(received).toEqual([])
  })

  test('a name that leads to a forbidden address', async () => {
    const lookup = (_: string, __: object, callback: (error: Error) => void) =>
      callback(Object.assign(new Error('forbidden'), { code: 'PRIVATE_ADDRESS' }))
    expect(await call(openAgent({ lookup }))).toEqual(failure(false, 'PRIVATE_ADDRESS'))
    expect(sockets.size).toBe(0)
  })

  test('a handshake that never ends', async () => {
    const silent = createTcpServer()
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as AddressInfo
    const result = await call(openAgent(), { port, limits: { connectMs: 50 } })
    expect(result).toEqual(failure(false, 'CONNECT_TIMEOUT'))
    silent.close()
  })

  test('a signal that was aborted before', async () => {
    const signal = AbortSignal.abort()
    expect(await call(openAgent(), { signal })).toEqual(failure(false, 'ABORTED'))
  })
})

describe('a failure after the handshake may have sent the request:', () => {
  test('a certificate that the bank refuses, which TLS 1.3 reports after sending', async () => {
    const other = stranger.issue('customer')
    const strict = createServer(
      { ...bankIdentity, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        received.push(request)
        response.end()
      },
    )
    await new Promise<void>(resolve => strict.listen(0, '127.0.0.1', resolve))
    const { port } = strict.address() as AddressInfo
    const result = await call(openAgent(other), { port })
    expect(result).toEqual(failure(true, expect.stringMatching(/_ALERT_UNKNOWN_CA$|^ECONNRESET$/)))
    expect(received).toEqual([])
    strict.close()
  })

  test('a response that never comes', async () => {
    respond = () => {}
    expect(await call(openAgent(), { limits: { responseMs: 50 } })).toEqual(
      failure(true, 'RESPONSE_TIMEOUT'),
    )
  })

  test('a signal that is aborted meanwhile', async () => {
    const aborter = new AbortController()
    respond = () => aborter.abort()
    expect(await call(openAgent(), { signal: aborter.signal })).toEqual(failure(true, 'ABORTED'))
  })

  test('a connection that breaks', async () => {
    respond = request => request.socket.destroy()
    expect(await call()).toEqual(failure(true, 'ECONNRESET'))
  })

  test('half a body', async () => {
    respond = (request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"half":', () => request.socket.destroy())
    }
    expect(await call()).toEqual(failure(true, 'ECONNRESET'))
  })

  test('a body beyond the limit', async () => {
    respond = (_, response) => response.end('x'.repeat(1_001))
    expect(await call(openAgent(), { limits: { responseBytes: 1_000 } })).toEqual(
      failure(true, 'RESPONSE_TOO_LARGE'),
    )
    respond = (_, response) => response.end('x'.repeat(1_000))
    expect(await call(openAgent(), { limits: { responseBytes: 1_000 } })).toMatchObject({
      status: 200,
    })
  })
})

test.each([
  ['GET', 2],
  ['PUT', 1],
] as const)(
  'on a connection that the bank closed while idle, a %s is sent %i times',
  async (method, times) => {
    const agent = openAgent()
    await call(agent)
    let sent = 0
    respond = (request, response) => {
      sent += 1
      if (sent === 1) request.socket.destroy()
      else response.end('{}')
    }
    const result = await call(agent, { method })
    expect([result.kind, sent]).toEqual([times === 2 ? 'response' : 'failure', times])
  },
)
