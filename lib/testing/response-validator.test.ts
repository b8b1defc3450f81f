import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildDocument } from '#lib/http/openapi.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { validateResponses } from '#lib/testing/response-validator.ts'
import type { Document } from '#lib/testing/strict-validator.ts'

let document: Document
beforeAll(async () => {
  const built = buildDocument(await loadRoutes(), 'https://pix.troco.test')
  document = JSON.parse(JSON.stringify(built))
})

describe('responses that differ from the OpenAPI document are reported', () => {
  const account = { name: 'Loja Aurora', balance: 1 }
  const id = { 'content-type': 'application/json; charset=utf-8', 'x-request-id': 'one' }

  async function problemsOf(status: number, headers: Record<string, string>, body: string) {
    const server = createServer((_, response) => {
      response.setHeaders(new Map(Object.entries(headers)))
      response.writeHead(status).end(body)
    })
    const listProblems = validateResponses(server, JSON.stringify(document))
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    await (await fetch(`http://127.0.0.1:${port}/api/account`)).text()
    server.close()
    return listProblems()
  }

  test('a matching response is not reported', async () => {
    expect(await problemsOf(200, id, JSON.stringify(account))).toEqual([])
  })

  test.each([
    ['an additional property', 200, id, { ...account, id: 1 }, 'additional properties'],
    ['a missing property', 200, id, { name: 'x' }, "required property 'balance'"],
    ['the wrong type', 200, id, { ...account, balance: '1' }, 'must be integer'],
    ['an undeclared status', 418, id, { error: 'I am a teapot' }, 'not declared'],
    ['another type', 200, { ...id, 'content-type': 'text/html' }, account, 'the type is text/html'],
    ['no request id', 200, { ...id, 'x-request-id': '' }, account, 'x-request-id is missing'],
    ['a missing Retry-After', 503, id, { error: 'Service unavailable' }, 'retry-after is missing'],
    ['an unknown message', 401, id, { error: 'Who are you?' }, 'no example says Who are you?'],
    ['an unknown code', 401, { ...id, 'x-error-code': 'x' }, {}, 'the code x is not declared'],
  ])('%s', async (_, status, headers, body, problem) => {
    const found = await problemsOf(status, headers, JSON.stringify(body))
    expect(found.join('\n')).toContain(problem)
  })
})
