import { expect, test } from 'vitest'
import type * as z from 'zod'
import { ChargePage, ChargeRead, DocumentRead } from '#lib/charges/wire.ts'
import { endpoint } from '#lib/http/endpoint.ts'
import { parseFields } from '#lib/http/input.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { WithdrawalRead } from '#lib/withdrawals/wire.ts'

const write = {
  method: 'POST',
  summary: 'Change',
  allow: 'transactions:write',
  proof: 'required',
  idempotency: { retentionS: 1 },
  handle: async () => ({}),
} as const
const read = {
  method: 'GET',
  summary: 'Read',
  allow: 'transactions:read',
  handle: async () => ({}),
} as const

test('an endpoint whose response holds a document does not compile without a mask', () => {
  const masked = endpoint({ ...write, response: ChargeRead, mask: shown => shown.data.amount })
  const page = endpoint({ ...read, response: ChargePage, mask: entry => entry.client_doc })
  // @ts-expect-error: a charge holds the payer's document
  const charge = endpoint({ ...write, response: ChargeRead })
  // @ts-expect-error: a page holds it in each entry
  const charges = endpoint({ ...read, response: ChargePage })
  // @ts-expect-error: a withdrawal may hold the receiver's document
  const withdrawal = endpoint({ ...write, response: WithdrawalRead })
  // @ts-expect-error: a revealed document may not be stored with a key
  const stored = endpoint({ ...write, effect: 'document', response: DocumentRead })
  const { idempotency: _, ...unkeyed } = write
  const revealed = endpoint({ ...unkeyed, effect: 'document', response: DocumentRead })
  const all = [masked, page, charge, charges, withdrawal, stored, revealed]
  expect(all.filter(({ declared }) => declared.mask)).toEqual([masked, page])
})

function refusedFields(schema: z.ZodType): object {
  try {
    parseFields(schema, { unknown: 1 })
    return {}
  } catch (error) {
    return (error as { fields?: object }).fields ?? {}
  }
}

test('an operation that moves money refuses unknown and empty fields, except that of the specification', async () => {
  const MONEY = ['withdrawal', 'refund', 'end_proposal', 'end']
  const MORE = ['/sandbox/', '/write-offs', '/resolve', '/corrections', '/trial', '/money-out']
  const lenient: string[] = []
  for (const { segments, handlers } of await loadRoutes())
    for (const [method, { declared, accountlessDeclaration }] of handlers) {
      const { effect, body } = declared ?? accountlessDeclaration ?? {}
      const path = `/${segments.join('/')}`
      const movesMoney = MONEY.includes(effect ?? '') || MORE.some(part => path.includes(part))
      const schema = body && ('test' in body ? body.test : body)
      if (!movesMoney || !schema || method === 'GET') continue
      if (!('unknown' in refusedFields(schema as z.ZodType))) lenient.push(`${method} ${path}`)
    }
  expect(lenient).toEqual(['POST /withdrawals'])
})
