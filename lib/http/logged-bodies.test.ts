import { expect, test } from 'vitest'
import { LOGGED_BODY_MAX, maskRequest, maskResponse } from '#lib/http/request-log.ts'
import { measureCpuMs } from '#lib/testing/timing.ts'

const ID = '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa'

test('only listed fields of a known form are stored; every other value is masked, of an unknown field too', () => {
  const body = {
    amount: 1500,
    status: 'pending',
    transaction_id: ID,
    expires_at: '2026-11-21T02:27:00.123456Z',
    external_id: 'order of Ana',
    client_name: 'Ana',
    client_doc: '529.982.247-25',
    pix_key: 'ana@example.com',
    metadata: { status: 'Ana', amount: 52998224725 },
    items: [{ amount: 1 }],
    field_of_a_later_version: 'Ana',
    is_first: true,
    reason: null,
  }
  expect(maskResponse({ data: body })).toEqual({
    data: {
      amount: 1500,
      status: 'pending',
      transaction_id: ID,
      expires_at: body.expires_at,
      external_id: '***',
      client_name: '***',
      client_doc: '***',
      pix_key: '***',
      metadata: '***',
      items: '***',
      field_of_a_later_version: '***',
      is_first: true,
      reason: null,
    },
  })
})

test('a listed field with a value of another form is masked', () => {
  const body = {
    id: '529.982.247-25',
    status: 'Ana Rocha',
    amount: '52998224725',
    created_at: 'Ana',
  }
  expect(Object.values(maskResponse(body) as object)).toEqual(['***', '***', '***', '***'])
})

test('keys of the caller’s choice are masked with their values', () => {
  expect(maskResponse({ 'ana@example.com': 1, '52998224725': 2 })).toEqual({ '***': '***' })
  expect(maskResponse('ana')).toBe('***')
  expect(maskResponse({ errors: { 'ana@example.com': ['is no parameter'] } })).toEqual({
    errors: { '***': '***' },
  })
})

test('what a caller sends as a sentence is masked, and what a response has in its data', () => {
  const texts = { error: 'Ana Rocha', errors: { name: ['whsec_a'] }, message: 'Rua X, whsec_a' }
  const masked = { error: '***', errors: '***', message: '***' }
  expect(maskRequest(texts)).toEqual(masked)
  expect(maskResponse({ data: texts })).toEqual({ data: masked })
})

test('sentences lose e-mails and numbers of a document’s length', () => {
  const error = 'ana@example.com, 529.982.247-25 and +55 11 98765-4321 have 1 to 255 characters'
  expect(maskResponse({ error })).toEqual({
    error: '*** *** and +*** have 1 to 255 characters',
  })
})

test.each([
  'amount must be at least 500 and at most 9999999',
  `Charge ${ID} is not pending`,
  'Events before 2026-11-21T01:27:00.123456Z are gone; the oldest is of 2026-11-21',
])('a sentence keeps what is no data of a person: %s', error => {
  expect(maskResponse({ error })).toEqual({ error })
})

test.each([
  ['12345678 is too short', '*** is too short'],
  ['12.345.678/0001-95 2026-11-21', '***'],
  ['key 01a1fbb6-12345678-7d40', 'key 01a1fbb***d40'],
  ['random key 12345678-1234-4123-8123-123456789012', 'random key ***'],
])('a sentence loses what may be: %s', (error, masked) => {
  expect(maskResponse({ error })).toEqual({ error: masked })
})

test('a body that is longer than the log stores becomes null', () => {
  const data = (count: number) => ({ data: Array.from({ length: count }, () => ({ amount: 1 })) })
  expect(maskResponse(data(300))).not.toBeNull()
  expect(maskResponse(data(LOGGED_BODY_MAX / 8))).toBeNull()
})

test.each(['a', '1', '1 ', "a'", '@', 'a@', '-'])(
  'a long sentence that repeats %s takes little time, and nothing of it is stored',
  async piece => {
    const text = piece.repeat(60_000)
    let least = Infinity
    for (let run = 0; run < 3; run++)
      least = Math.min(least, await measureCpuMs(() => maskResponse({ error: text })))
    expect(least).toBeLessThan(20)
    expect(maskResponse({ error: text })).toEqual({ error: '***' })
  },
)
