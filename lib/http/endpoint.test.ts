import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { refuse } from '#lib/core/errors.ts'
import { db } from '#lib/db/client.ts'
import { type Endpoint, endpoint } from '#lib/http/endpoint.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'

let token: string
beforeAll(async () => {
  token = await makeToken((await makeMerchant()).id)
})

const read = ({ serve }: Endpoint) =>
  serve({
    method: 'GET',
    url: '/api/anything',
    ip: '198.51.100.7',
    requestId: undefined,
    route: '',
    params: {},
    header: name => (name === 'authorization' ? `Bearer ${token}` : null),
    isBodyComplete: () => true,
    readBody: async () => new Uint8Array(),
    onEnd() {},
  })

test.each([
  ['service_unavailable', 503],
  ['transaction_not_found', 404],
] as const)('work that ends with %s is not run again', async (code, status) => {
  let runs = 0
  const refusing = endpoint({
    method: 'GET',
    summary: 'A refusal',
    allow: 'transactions:read',
    response: z.null(),
    async handle() {
      runs++
      throw refuse(code)
    },
  })
  for (const requests of [1, 2, 3]) {
    const response = await read(refusing)
    expect(response.status).toBe(status)
    expect(runs).toBe(requests)
  }
})

test.each([
  [1, 200],
  [2, 503],
])(
  'a caller who changes %i times between check and work gets %i after two runs',
  async (changes, status) => {
    let runs = 0
    const changing = endpoint({
      method: 'GET',
      summary: 'A caller who changes',
      allow: 'transactions:read',
      response: z.null(),
      async handle() {
        runs++
        if (runs <= changes) await db().$queryRaw`SELECT troco_refuse_caller()`
        return null
      },
    })
    const response = await read(changing)
    expect([response.status, runs]).toEqual([status, 2])
    if (status === 503) expect(response.headers['retry-after']).toMatch(/^\d$/)
  },
)
