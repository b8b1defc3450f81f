import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { authenticateToken } from '#lib/tokens/authenticate.ts'

/**
 * Matches an expression whose name suggests a secret. Comparing secrets in JavaScript leaks timing.
 */
const SECRET_EXPRESSION =
  '(?:[\\w.?]*(?:token|secret|password|bearer|signature|hmac|digest|hash|cookie)\\w*(?:\\([^()]*\\))?)'
const HARMLESS_VALUE = '(?:null|undefined|true|false|\'[^\']*\'|"[^"]*"|\\d+)'
const COMPARISONS = [
  new RegExp(`(?<![\\w'"])${SECRET_EXPRESSION}\\s*[!=]==?\\s*(?!${HARMLESS_VALUE})[\\w.$\`(]`, 'i'),
  new RegExp(`(?<!${HARMLESS_VALUE})\\s[!=]==?\\s*${SECRET_EXPRESSION}(?![\\w'"(])`, 'i'),
  new RegExp(
    `${SECRET_EXPRESSION}\\.(?:equals|localeCompare|startsWith|endsWith|includes|indexOf)\\(`,
    'i',
  ),
  new RegExp(
    `\\.(?:equals|compare|localeCompare|includes|indexOf|is)\\([^)]*${SECRET_EXPRESSION}`,
    'i',
  ),
]
/** SQL must look up the hash, not the secret. */
const SQL_COMPARISON = /\w = \$\{(?:[\w.]*\.)?(?:token|secret|password|bearer|authorization)\}/i

/** Expressions whose name suggests a secret, but that are no secrets. */
const NOT_SECRETS = [
  'parsed.hash',
  // The hash of a request, to detect a repeated one.
  'requestHash',
  // Names of permissions and of error codes.
  "'tokens:read'",
  "'tokens:write'",
  "'child_token'",
  "'token_ended'",
]

function findComparisons(text: string): string[] {
  return text
    .split('\n')
    .filter(line => !/^\s*(\/\/|\*|\/\*)/.test(line))
    .filter(line => COMPARISONS.some(rule => rule.test(line)) || SQL_COMPARISON.test(line))
    .filter(line => !NOT_SECRETS.some(known => line.includes(known)))
    .map(line => line.trim())
}

test.each([
  'if (token === known.token) return known',
  'return row.secret == given',
  'if (known !== bearer) throw unauthenticated()',
  'const same = hashToken(token) === row.hash',
  'if (given === hashSecret(secret)) return user',
  'return signature.equals(expected)',
  'return Buffer.compare(expected, digest) === 0',
  'if (passwordHash.localeCompare(other) === 0) return true',
  'if (secret.startsWith(prefix)) return true',
  'const found = tokens.find(one => one.secret === given)',
  'SELECT 1 FROM user_sessions WHERE secret = \u0024{secret}',
])('a comparison of secrets is found: %s', line => {
  expect(findComparisons(line)).toHaveLength(1)
})

test.each([
  'if (token === null) return null',
  "if (caller.kind === 'token') throw notActive()",
  'const known = token === undefined ? null : recallToken(token)',
  'if (hash.length === 32) return true',
])('a harmless comparison is not reported: %s', line => {
  expect(findComparisons(line)).toEqual([])
})

test('no secret is compared in JavaScript or in SQL', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
    .split('\n')
    .filter(path => /^(app|bin|components|lib)\/.*\.tsx?$/.test(path))
    .filter(path => !/\.test\.tsx?$|^lib\/testing\//.test(path))
  expect(files.length).toBeGreaterThan(50)
  const comparisons = files.flatMap(path =>
    findComparisons(readFileSync(path, 'utf8')).map(line => `${path}: ${line}`),
  )
  expect(comparisons).toEqual([])
})

test('tokens and sessions are found through a unique index of their hash', async () => {
  const indexes = await db().$queryRaw<{ made: string }[]>`
    SELECT indexdef AS made FROM pg_indexes WHERE tablename IN ('tokens', 'user_sessions')`
  const made = indexes.map(index => index.made).join('\n')
  expect(made).toMatch(/CREATE UNIQUE INDEX \w+ ON public\.tokens USING btree \(hash\)/)
  expect(made).toMatch(
    /CREATE UNIQUE INDEX \w+ ON public\.user_sessions USING btree \(secret_hash\)/,
  )
})

test('no table contains a token or its plain SHA-256', async () => {
  const merchant = await makeMerchant()
  const token = await makeToken(merchant.id)
  expect(await authenticateToken(token)).not.toBeNull()
  const [row] = await db().$queryRaw<{ row: string; plain: boolean }[]>`
    SELECT to_jsonb(t)::text AS row, hash = sha256(${token}::bytea) AS plain
    FROM tokens t WHERE account_id = ${merchant.id}::uuid`
  expect(row?.row).toContain(token.slice(0, 20))
  expect(row?.row).not.toContain(token.slice(0, 21))
  expect(row?.plain).toBe(false)
})
