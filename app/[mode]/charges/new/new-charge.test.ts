import { expect, test } from 'vitest'
import { readChargeForm, sumItems, toLargestUnit } from '#app/[mode]/charges/new/new-charge.ts'
import { chargeRequest } from '#lib/charges/schema.ts'

const MINIMAL_FORM = {
  amount: '1.234,56',
  client_name: ' Ana Beatriz Rocha ',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
  client_phone: '',
  external_id: '',
  expires_in: '86400',
  webhook_url: '',
}

function fillForm(overrides: Record<string, string> = {}): FormData {
  const data = new FormData()
  for (const [name, value] of Object.entries({ ...MINIMAL_FORM, ...overrides }))
    data.set(name, value)
  return data
}

const validate = (
  overrides: Record<string, string>,
  items: number[] = [],
  metadata: number[] = [],
) => chargeRequest.test.safeParse(readChargeForm(fillForm(overrides), 'pt-BR', items, metadata))
const invalidFields = (...args: Parameters<typeof validate>) =>
  validate(...args).error?.issues.map(({ path }) => path[0])

test('a minimal form becomes a valid request that omits its empty fields', () => {
  expect(validate({}).data).toEqual({
    amount: 123_456,
    client_name: 'Ana Beatriz Rocha',
    client_email: 'ana@example.com',
    client_doc: '529.982.247-25',
    expires_in: 86_400,
  })
})

test.each([
  [{ expires_in: 'custom', expiry_count: '2', expiry_unit: 'hours' }, 7_200],
  [{ expires_in: 'custom', expiry_count: '1,5', expiry_unit: 'days' }, 129_600],
])('a custom expiry is converted to seconds: %o', (overrides, seconds) => {
  expect(validate(overrides).data?.expires_in).toBe(seconds)
})

test('an invalid amount, expiry, item or metadata entry is reported at its field', () => {
  expect(invalidFields({ amount: '1.2.3' })).toEqual(['amount'])
  const custom = { expires_in: 'custom', expiry_unit: 'days' }
  for (const expiry_count of ['', 'x', '0', '31']) {
    expect(invalidFields({ ...custom, expiry_count }), expiry_count).toEqual(['expires_in'])
  }
  expect(invalidFields({ 'items.1.name': 'Café', 'items.1.price': 'caro' }, [1])).toEqual(['items'])
  expect(invalidFields({ 'items.1.name': 'Café', 'items.1.quantity': 'x' }, [1])).toEqual(['items'])
  const twice = { 'metadata.1.key': 'a', 'metadata.2.key': 'a' }
  expect(invalidFields(twice, [], [1, 2])).toEqual(['metadata'])
  expect(invalidFields({ 'metadata.1.value': 'a' }, [], [1])).toEqual(['metadata'])
})

test('filled rows are sent and added up; empty rows are dropped', () => {
  const rows = {
    'items.1.name': 'Café',
    'items.1.quantity': '2',
    'items.1.price': '45,00',
    'items.3.name': '',
    'items.3.quantity': '1',
    'items.3.price': '',
    'items.4.name': 'Moedor',
    'items.4.quantity': '',
    'items.4.price': '1.000',
    'metadata.1.key': 'order',
    'metadata.1.value': '1048',
  }
  expect(validate(rows, [1, 3, 4], [1]).data).toMatchObject({
    items: [
      { name: 'Café', quantity: 2, price: 4_500 },
      { name: 'Moedor', price: 100_000 },
    ],
    metadata: { order: '1048' },
  })
  expect(sumItems(fillForm(rows), 'pt-BR', [1, 3, 4])).toBe(109_000)
  expect(sumItems(fillForm(rows), 'pt-BR', [3])).toBeNull()
})

test.each([
  [900, { unit: 'minutes', count: 15 }],
  [7_200, { unit: 'hours', count: 2 }],
  [86_400, { unit: 'days', count: 1 }],
  [61, { unit: 'seconds', count: 61 }],
])('%i seconds are shown in the largest unit that divides them', (seconds, expected) => {
  expect(toLargestUnit(seconds)).toEqual(expected)
})
