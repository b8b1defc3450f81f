import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sidesOf } from '#lib/testing/sides.ts'

test.each([
  ['SELECT u.email FROM users u JOIN memberships m ON m.user_id = u.id', ['people']],
  ['UPDATE accounts a SET name = $1 FROM tokens t WHERE t.account_id = a.id', ['money']],
  ['SELECT (SELECT u.name FROM users u) FROM charges', ['people', 'money']],
  ['SELECT FROM accounts a, memberships m', ['money', 'people']],
  ['SELECT "public"."users"."id" FROM "public"."users"', ['people']],
  ['WITH gone AS (DELETE FROM sessions) INSERT INTO user_sessions SELECT', ['people']],
  [
    "SELECT 'users' AS users, json_build_object('tokens', m.tokens) AS \"tokens\" FROM mails m",
    ['people'],
  ],
  ['SELECT FROM audit_log r JOIN accounts a ON true', ['money']],
  ['SELECT FROM audit_log r JOIN users u ON true -- accounts', ['people']],
  ['BEGIN', []],
])('the sides of a statement are found: %s', (sql, sides) => {
  expect(sidesOf(sql)).toEqual(sides)
})

test('no function of the database names tables of both sides', () => {
  const folder = 'prisma/functions'
  const mixed = readdirSync(folder).filter(
    file => sidesOf(readFileSync(`${folder}/${file}`, 'utf8')).length > 1,
  )
  expect(mixed).toEqual([])
})
