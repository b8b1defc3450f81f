import { EventEmitter } from 'node:events'
import { expect, test } from 'vitest'
import { newId } from '#lib/base/ids.ts'
import { refuseBusySignIn } from '#lib/edge/server/sign-in-places.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { addMark } from '#lib/services/people/known-device.ts'

const PATH = '/api/auth/callback/credentials'

/** Begins a sign-in; null if it was refused. */
function begin(address: string, { marks = '', url = PATH, method = 'POST' } = {}) {
  const response = new EventEmitter()
  const request = { url, method, headers: { cookie: `a=b; ${cookieNames().device}=${marks}` } }
  const refused = refuseBusySignIn(request as never, response as never, address)
  if (refused) {
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '2'])
    return null
  }
  return () => response.emit('close')
}

test('sign-ins beyond the places are refused, but not those of known devices', () => {
  const forged = addMark(newId(), '').replace(/^./, first => (first === 'A' ? 'B' : 'A'))
  const begun = Array.from({ length: 60 }, (_, nth) =>
    begin(`198.51.100.${nth}`, { marks: nth % 2 ? forged : '' }),
  )
  expect(begun.filter(Boolean)).toHaveLength(50)
  expect(begin('192.0.2.1')).toBeNull()
  const marks = addMark(newId(), addMark(newId(), ''))
  const known = Array.from({ length: 12 }, () => begin('192.0.2.1', { marks }))
  expect(known.filter(Boolean)).toHaveLength(10)
  const other = begin('192.0.2.1', { marks: addMark(newId(), '') })
  const step = begin('192.0.2.1', { url: `${PATH}?step` })
  for (const end of [...begun, ...known, other, step]) end?.()
  expect(other && step).not.toBeNull()
  begin('192.0.2.1')?.()
})

test('one network gets twelve places, and reads need none', () => {
  const begun = Array.from({ length: 20 }, (_, nth) => begin(`2001:db8:7:${nth}::1`))
  expect(begun.filter(Boolean)).toHaveLength(12)
  const other = begin('2001:db8:8::1')
  expect(other).not.toBeNull()
  expect(begin('2001:db8:7::1', { method: 'GET' })).not.toBeNull()
  expect(begin('2001:db8:7::1', { url: '/api/auth/csrf' })).not.toBeNull()
  for (const end of [...begun, other]) end?.()
  const again = begin('2001:db8:7::1')
  expect(again).not.toBeNull()
  again?.()
})
