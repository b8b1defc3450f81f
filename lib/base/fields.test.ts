import { expect, test } from 'vitest'
import * as z from 'zod'
import { pickFields } from '#lib/base/fields.ts'

test('only the fields of the shape are copied, in its order', () => {
  const shape = { id: z.string(), amount: z.int(), note: z.string().nullable() }
  const row = { secret: 'hidden', note: null, amount: 500, id: 'a' }
  expect(JSON.stringify(pickFields(shape, row))).toBe('{"id":"a","amount":500,"note":null}')
})
