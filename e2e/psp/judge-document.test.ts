import { expect, test } from 'vitest'
import { DocumentJudge } from './judge-document.ts'
import type { OpenApi } from './openapi.ts'
import { type Exchange, TEST_CLIENT } from './traffic.ts'

const AMOUNT = { type: 'object', required: ['valor'], properties: { valor: { type: 'string' } } }
const json = (schema: object) => ({ content: { 'application/json': { schema } } })

/** A small document in the manner of Banco Central's. */
const document = {
  paths: {
    '/{token}': { get: { responses: { 200: {} } } },
    '/cob/{txid}': {
      parameters: [
        { name: 'txid', in: 'path', required: true, schema: { type: 'string', pattern: '^a+$' } },
      ],
      get: {
        parameters: [
          { name: 'revisao', in: 'query', schema: { type: 'integer' } },
          { name: 'cheia', in: 'query', required: true, schema: { type: 'boolean' } },
        ],
        responses: { 200: json({ $ref: '#/components/schemas/Whole' }) },
      },
      put: { requestBody: json(AMOUNT), responses: { 201: json(AMOUNT), 204: {} } },
    },
    '/webhook/{chave}': {
      put: {
        responses: {},
        callbacks: { pix: { '{url}/pix': { post: { requestBody: json(AMOUNT), responses: {} } } } },
      },
    },
  },
  components: {
    schemas: {
      Whole: {
        allOf: [AMOUNT, { properties: { list: { type: 'array', items: AMOUNT } } }],
      },
    },
  },
} as unknown as OpenApi

const TYPE = { 'content-type': 'application/json' }
const GET: Exchange = {
  kind: 'efi',
  to: 'bank',
  at: '',
  method: 'GET',
  target: '/v2/cob/aa?cheia=true',
  route: '/v2/cob/:txid',
  requestHeaders: {},
  requestBody: '',
  status: 200,
  fault: null,
  ...{ responseHeaders: TYPE, responseBody: '{"valor":"1","list":[{"valor":"1"}]}' },
}
const PUT: Exchange = {
  ...GET,
  method: 'PUT',
  target: '/v2/cob/aa',
  requestHeaders: TYPE,
  requestBody: '{"valor":"1"}',
  status: 201,
  responseBody: '{"valor":"1"}',
}
const NOTICE: Exchange = { ...PUT, to: 'receiver', method: 'POST', target: 'https://shop/pix' }

function outcomesOf(exchange: Exchange): string[] {
  return new DocumentJudge(document).judge(exchange).map(({ outcome }) => outcome)
}

test('an exchange by the document is accepted, with numbers and flags as text in a query', () => {
  for (const exchange of [GET, PUT, { ...GET, target: '/v2/cob/aa?cheia=false&revisao=2' }])
    expect(outcomesOf(exchange)).toEqual(['accepted', 'accepted'])
  expect(outcomesOf({ ...PUT, status: 204, responseBody: '' })).toEqual(['accepted', 'accepted'])
})

test.each([
  ['a path', { ...GET, target: '/v2/cob/b?cheia=true' }],
  ['a number', { ...GET, target: '/v2/cob/aa?cheia=true&revisao=x' }],
  ['a missing parameter', { ...GET, target: '/v2/cob/aa' }],
  ['an unknown parameter', { ...GET, target: '/v2/cob/aa?cheia=true&other=1' }],
  ['a body', { ...PUT, requestBody: '{"valor":1}' }],
  ['a missing body', { ...PUT, requestBody: '' }],
  ['an unknown property', { ...PUT, requestBody: '{"valor":"1","other":1}' }],
  ['a type', { ...PUT, requestHeaders: { 'content-type': 'text/plain' } }],
])('a request with %s that the document refuses is refused', (_, exchange) => {
  expect(outcomesOf(exchange)).toEqual(['refused', 'accepted'])
})

test.each([
  ['body', { ...GET, responseBody: '{}' }],
  ['half a document', { ...GET, responseBody: '{"valor":' }],
  ['unknown property', { ...GET, responseBody: '{"valor":"1","list":[{"valor":"1","other":1}]}' }],
  ['body where none is allowed', { ...PUT, status: 204 }],
  ['type', { ...GET, responseHeaders: { 'content-type': 'text/html' } }],
  ['status', { ...GET, status: 418 }],
])('a response with a wrong %s is refused', (_, exchange) => {
  expect(outcomesOf(exchange)).toEqual(['accepted', 'refused'])
})

test('a wrong request is excused only for the tests, and only if the bank refused it too', () => {
  const wrong = { ...PUT, requestBody: '{}', status: 204, responseBody: '' }
  const byTest = { ...wrong, requestHeaders: { ...TYPE, 'user-agent': TEST_CLIENT } }
  expect(outcomesOf(wrong)[0]).toBe('refused')
  expect(outcomesOf({ ...wrong, status: 400 })[0]).toBe('refused')
  expect(outcomesOf(byTest)[0]).toBe('refused')
  expect(outcomesOf({ ...byTest, status: 400 })[0]).toBe('refused by both')
  expect(outcomesOf({ ...byTest, status: 503, fault: 'respond' })[0]).toBe('refused')
})

test('a fault excuses only the response that it changed', () => {
  const changed = { ...PUT, responseBody: '<html>' }
  for (const fault of ['respond', 'quirk'])
    expect(outcomesOf({ ...changed, fault })).toEqual(['accepted', 'ordered'])
  expect(outcomesOf({ ...changed, fault: 'delay' })).toEqual(['accepted', 'refused'])
  const lost = { ...PUT, status: null, fault: 'reset' }
  expect(outcomesOf({ ...lost, requestBody: '{}' })).toEqual(['refused', 'absent'])
})

test('calls that the document leaves out are excused, and no others', () => {
  const other = { ...PUT, target: '/v3/gn/pix/a', route: '/v3/gn/pix/:idEnvio' }
  for (const exchange of [other, { ...PUT, target: '/oauth/token' }])
    expect(outcomesOf(exchange)).toEqual(['not described', 'not described'])
  for (const exchange of [
    { ...other, kind: 'api-pix' as const },
    { ...PUT, target: '/v2/pagamentos/aa' },
    { ...PUT, target: '/cobr/aa' },
  ])
    expect(outcomesOf(exchange)).toEqual(['refused', 'not described'])
})

test('a notice is judged as the request of the callback', () => {
  expect(outcomesOf(NOTICE)).toEqual(['accepted', 'not described'])
  expect(outcomesOf({ ...NOTICE, status: 200 })).toEqual(['accepted', 'accepted'])
  expect(outcomesOf({ ...NOTICE, status: null })).toEqual(['accepted', 'absent'])
  expect(outcomesOf({ ...NOTICE, requestBody: '{}' })[0]).toBe('refused')
  for (const fault of ['array', 'command'])
    expect(outcomesOf({ ...NOTICE, requestBody: '[]', fault })).toEqual(['ordered', 'ordered'])
  for (const requestBody of ['{"evento":"x"}', '{"pix":[{"tipo":"SOLICITACAO"}]}'])
    expect(outcomesOf({ ...NOTICE, requestBody })[0]).toBe('not described')
})
