import { afterAll, beforeAll, expect, test } from 'vitest'
import { parameterNames } from '#lib/http/input.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CHARGE,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'

let api: Api
let token: string
beforeAll(async () => {
  api = await startApi()
  const merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000_000)
  token = await makeToken(merchant.id)
})
afterAll(() => api.close())

const callApi = (method: string, path: string, body?: unknown) =>
  call(api.url, method, path, { token, body })

test.each([
  ['GET', '/account', undefined],
  ['POST', '/transactions', CHARGE],
  ['GET', '/transactions/$id', undefined],
  ['POST', '/withdrawals', WITHDRAWAL],
] as const)('%s %s ignores query parameters and names them', async (method, path, body) => {
  const { body: created } = await callApi('POST', '/transactions', CHARGE)
  const target = path.replace('$id', created.data.transaction_id)
  const plain = await callApi(method, target, body)
  expect([plain.status, plain.headers.get('x-ignored-parameters')]).toEqual([200, null])
  const { status, headers } = await callApi(
    method,
    `${target}?a=1&expand=ação&a=2&b%0A=%ff&c=50%&d=%zz&e=`,
    body,
  )
  expect([status, headers.get('x-ignored-parameters')]).toEqual([200, 'a, expand, b%0A, c, d, e'])
})

test('the names of ignored parameters stay short', async () => {
  const cut = await callApi('GET', `/account?${'x'.repeat(63)}%F0%9F%98%80`)
  expect([cut.status, cut.headers.get('x-ignored-parameters')]).toEqual([
    200,
    `${'x'.repeat(63)}%EF%BF%BD`,
  ])
  const many = Array.from({ length: 20 }, (_, index) => `${index}${'x'.repeat(90)}`).join('&')
  const { headers } = await callApi('GET', `/account?${many}`)
  expect(headers.get('x-ignored-parameters')?.length).toBeLessThan(2_000)
})

test.each([
  ['/transactions?page=2', { page: [expect.stringMatching(/^page is not a parameter .*cursor/)] }],
  ['/events?limit=5&limit=6', { limit: ['limit must not be sent twice'] }],
  ['/events?Limit=5', { Limit: [expect.stringMatching(/^Limit is not a parameter/)] }],
  ['/withdrawals?external_id=%ff', { external_id: ['external_id must be percent-encoded UTF-8'] }],
  ['/transactions?external_id=50%', { external_id: ['external_id must be percent-encoded UTF-8'] }],
  ['/transactions?q=%zz', { q: ['q must be percent-encoded UTF-8'] }],
  ['/transactions?q=%EF%BF%BD', null],
  ['/transactions?external_id=&q=&status=&limit=&cursor=', null],
  ['/transactions?metadata[order]=', { 'metadata[order]': ['metadata[order] must have a value'] }],
  ['/transactions?__proto__=1', { ['__proto__']: [expect.stringMatching(/^__proto__ is not/)] }],
  [
    '/events?limit=1&?limit=5',
    { '?limit': [expect.stringMatching(/^\?limit is not a parameter/)] },
  ],
  ['/events??limit=5', { '?limit': [expect.stringMatching(/^\?limit is not a parameter/)] }],
  ['/transactions?', null],
  ['/transactions?&limit=5&', null],
])('GET %s is refused if a parameter would have no effect', async (path, errors) => {
  const { status, body, headers } = await callApi('GET', path)
  if (errors === null) return expect(status).toBe(200)
  expect([status, body]).toEqual([422, { errors }])
  expect(headers.get('x-error-code')).toBe('invalid_input')
})

test('a write of an extension with a parameter is refused and has no effect', async () => {
  const { body: created } = await callApi('POST', '/transactions', CHARGE)
  const path = `/sandbox/transactions/${created.data.transaction_id}`
  const refused = await callApi('POST', `${path}?dry_run=true`, { outcome: 'paid' })
  expect([refused.status, refused.body]).toEqual([
    422,
    { errors: { dry_run: ['dry_run is not a parameter of this operation'] } },
  ])
  expect((await callApi('POST', path, { outcome: 'paid' })).status).toBe(200)
})

test('every schema of a query lists its parameters', async () => {
  const schemas = (await loadRoutes())
    .flatMap(({ handlers }) => [...handlers.values()])
    .map(({ declared, accountlessDeclaration }) => (declared ?? accountlessDeclaration)?.query)
    .filter(schema => schema !== undefined)
  expect(schemas.length).toBeGreaterThan(20)
  for (const schema of schemas) expect(parameterNames(schema).length).toBeGreaterThan(0)
})
