import { expect, test } from 'vitest'
import { problemKind } from '#app/[mode]/webhooks/problem-kind.ts'
import { problemOfFailure, Stopped } from '#lib/services/webhooks/failure.ts'
import { problemOfAnswer } from '#lib/services/webhooks/response.ts'

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ECONNRESET', 'closed'],
  ['EHOSTUNREACH', 'unreached'],
  ['CERT_HAS_EXPIRED', 'certificate'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
  ['EPROTO', 'tls'],
  ['HPE_INVALID_CONSTANT', 'http'],
  ['HPE_HEADER_OVERFLOW', 'http'],
  ['EWHATEVER', 'other'],
])('what %s becomes is told as %s', (code, kind) => {
  const error = Object.assign(new Error(code), { code })
  expect(problemKind(problemOfFailure(error, 'shop.example'))).toBe(kind)
})

test('so is what we hang up for, and every status that is no success', () => {
  const late = new Stopped('The receiver did not answer within 15 s')
  expect(problemKind(problemOfFailure(late, 'shop.example'))).toBe('timeout')
  const answer = { headers: {}, body: '' }
  const kindOf = (status: number) => problemKind(problemOfAnswer({ ...answer, status }) ?? '')
  expect([500, 404, 302, 101, 410].map(kindOf)).toEqual([
    'status',
    'status',
    'redirect',
    'status',
    'status',
  ])
})
