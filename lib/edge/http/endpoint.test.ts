import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { refuse } from '#lib/base/errors.ts'
import { endpoint } from '#lib/edge/http/endpoint.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'

let token: string
beforeAll(async () => {
  token = await makeToken((await makeMerchant()).id)
})

test.each([
  ['service_unavailable', 503],
  ['transaction_not_found', 404],
] as const)(
  'work that ends with %s is not run again for a remembered caller',
  async (code, status) => {
    let runs = 0
    const { serve } = endpoint({
      method: 'GET',
      summary: 'A refusal',
      allow: 'transactions:read',
      response: z.null(),
      allowsRememberedCaller: true,
      async handle() {
        runs++
        throw refuse(code)
      },
    })
    for (const requests of [1, 2, 3]) {
      const response = await serve({
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
      expect(response.status).toBe(status)
      expect(runs).toBe(requests)
    }
  },
)
