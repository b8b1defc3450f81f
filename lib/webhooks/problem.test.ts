import { expect, test } from 'vitest'
import { ExchangeError, errorToProblem, responseToProblem } from '#lib/webhooks/post.ts'

test.each([
  ['ECONNREFUSED', 'refused'],
  ['ECONNRESET', 'closed'],
  ['EHOSTUNREACH', 'unreachable'],
  ['CERT_HAS_EXPIRED', 'certificate_expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate_name'],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate_untrusted'],
  ['EPROTO', 'tls'],
  ['HPE_INVALID_CONSTANT', 'not_http'],
  ['HPE_HEADER_OVERFLOW', 'header_too_large'],
  ['EWHATEVER', 'not_called'],
])('the error %s is reported as %s', (code, problem) => {
  const error = Object.assign(new Error(code), { code })
  expect(errorToProblem(error, 'shop.example').code).toBe(problem)
})

test('timeouts and unsuccessful statuses are reported by their code', () => {
  const late = { code: 'timeout', params: { seconds: 15 } } as const
  expect(errorToProblem(new ExchangeError(late), 'shop.example')).toEqual(late)
  const response = { headers: {}, body: '' }
  const codeOf = (status: number) => responseToProblem({ ...response, status })?.code
  expect([500, 404, 302, 101, 410].map(codeOf)).toEqual([
    'status',
    'status',
    'redirect',
    'status',
    'status',
  ])
})
