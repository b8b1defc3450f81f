import { expect, test } from 'vitest'
import { failedSignInPath, safeRedirectPath } from '#lib/session/schema.ts'

test.each(['/test/charges', '/test/charges?q=ana&status=paid', '/admin/accounts'])(
  'a sign-in may redirect to %s',
  path => {
    expect(safeRedirectPath(path)).toBe(path)
  },
)

test.each([
  undefined,
  ['/test/home'],
  '',
  'test',
  '//evil.example',
  '/\\evil.example',
  '/.//evil.example',
  '/%2e//evil.example',
  '/x/..//evil.example',
  '/./\\evil.example',
  '/\t/evil.example',
  '/ /evil.example',
  'https://evil.example',
  'javascript:alert(1)',
  '/login?next=/login',
  '/api/auth/signout',
  '/pay/x',
  '/a\r\nset-cookie: x',
])('a redirect to %j is replaced with /', path => {
  expect(safeRedirectPath(path)).toBe('/')
})

test.each([
  ['OAuthCallback', '/login?error=OAuthCallback'],
  ['\r\nset-cookie: a', '/login?error=Unknown'],
  ['//evil.example', '/login?error=Unknown'],
  ['', '/login?error=Unknown'],
  [null, '/login?error=Unknown'],
])('a failed sign-in with %j redirects to %s', (error, path) => {
  expect(failedSignInPath(error)).toBe(path)
})
