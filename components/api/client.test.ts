import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import { type Api, createApi, createVisitorApi } from '#components/api/client.ts'
import type { DeclaredBy, PathOf, Routes } from '#components/api/routes.ts'
import { endpoint, userEndpoint } from '#lib/http/endpoint.ts'

const id = '0198c8f4-0000-7000-8000-000000000000'

/** Compiled only: each line that the compiler must refuse is marked. */
/** Bodies whose schema says nothing about what is sent: any would compile. */
type UntypedBody = {
  [Path in PathOf<'POST'>]: unknown extends DeclaredBy<Routes[`POST ${Path}`]>['body']
    ? Path
    : never
}[PathOf<'POST'>]

async function misuse(api: Api) {
  const { data } = await api.get('/person/sessions')
  const [device] = data
  device?.browser satisfies string | null | undefined
  // @ts-expect-error: the declaration of the response names no such field
  device?.colour
  // @ts-expect-error: no such path
  await api.get('/person/session')
  // @ts-expect-error: the path has no such method
  await api.put('/person/sessions')
  // @ts-expect-error: the variable part is missing
  await api.delete('/person/sessions/[id]')
  // @ts-expect-error: the variable part has another name
  await api.delete('/person/sessions/[id]', { params: { session: id } })
  // @ts-expect-error: the body is missing
  await api.post('/person/email/confirm')
  // @ts-expect-error: a field of the body has another name
  await api.post('/person/email/confirm', { body: { token: 'x' } })
  // @ts-expect-error: a field of the body has another type
  await api.post('/transactions/[id]/refunds', { params: { id }, body: { amount: '1' } })
  // @ts-expect-error: this operation has no body
  await api.delete('/person/sessions', { body: {} })
  // @ts-expect-error: the query has no such parameter
  await api.get('/dashboard/charges', { query: { state: 'paid' } })
  // @ts-expect-error: no such status
  await api.get('/dashboard/charges', { query: { status: 'payed' } })
}

test('the types of a call are those of its declaration, so that drift does not compile', () => {
  const of = <Served>(_: Served) => ({}) as DeclaredBy<Served>
  const rest = { method: 'POST', summary: 'Change', handle: async () => ({}) } as const
  const body = z.object({ amount: z.string().transform(Number) })
  const response = z.object({ data: z.array(z.int()) })
  const own = of(userEndpoint({ ...rest, proof: 'required', effect: 'none', body, response }))
  const both = { test: body, live: body }
  const account = of(
    endpoint({ ...rest, proof: 'required', allow: 'tokens:write', body: both, response }),
  )
  for (const declared of [own, account]) {
    declared.answer satisfies { data: number[] } | undefined
    // What is sent, not what the server makes of it.
    declared.body satisfies { amount: string } | undefined
    declared.query satisfies undefined
    // @ts-expect-error: the answer is a list of numbers
    declared.answer satisfies { data: string[] } | undefined
    // @ts-expect-error: the amount is sent as text
    declared.body satisfies { amount: number } | undefined
  }
  const untyped: UntypedBody[] = []
  // @ts-expect-error: there is none
  untyped.push('/transactions')
  expect(misuse).toBeTypeOf('function')
})

test('a call fills in its path, adds the query that is set, and sends its body as JSON', async () => {
  const requests: unknown[] = []
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('')
    const { method, url, headers } = request
    requests.push([method, url, text, headers['idempotency-key'], headers['troco-account']])
    response.setHeader('content-type', 'application/json').end('{"data":[]}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const send = globalThis.fetch
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => send(origin + path, init))
  try {
    const api = createApi({ mode: 'test', userId: 'u', accountId: 'a' })
    const query = { status: 'paid', q: 'Ana & Cia', min_amount: undefined } as const
    await api.get('/dashboard/charges', { query })
    await api.post('/transactions/[id]/refunds', {
      params: { id: 'order 1/2' },
      body: { amount: 1 },
      idempotencyKey: 'k',
    })
    await createVisitorApi().delete('/person/sessions')
  } finally {
    vi.unstubAllGlobals()
    server.close()
  }
  expect(requests).toEqual([
    ['GET', '/api/dashboard/charges?status=paid&q=Ana+%26+Cia', '', undefined, 'a'],
    ['POST', '/api/transactions/order%201%2F2/refunds', '{"amount":1}', 'k', 'a'],
    ['DELETE', '/api/person/sessions', '', undefined, undefined],
  ])
})
