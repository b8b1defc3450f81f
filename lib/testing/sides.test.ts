import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { db } from '#lib/db/client.ts'
import { makeDatabase, ownerUrlOf } from '#lib/testing/database.ts'
import { query } from '#lib/testing/embedded.ts'
import { readSides, sidesOf, takeMixedStatements } from '#lib/testing/sides.ts'

/** Returns the foreign keys between tables of different sides. */
async function findKeysBetweenSides(url: string): Promise<string[]> {
  const rows = await query(
    url,
    `SELECT conname AS name, conrelid::regclass::text AS source, confrelid::regclass::text AS target
     FROM pg_constraint WHERE contype = 'f' AND connamespace = 'public'::regnamespace`,
  )
  expect(rows.length).toBeGreaterThan(20)
  const sides = readSides()
  return rows
    .filter(({ source, target }) => sides.get(String(source)) !== sides.get(String(target)))
    .map(({ name }) => String(name))
}

test('no foreign key goes from one side to another', async () => {
  const url = ownerUrlOf(await makeDatabase())
  expect(await findKeysBetweenSides(url)).toEqual([])
  await query(url, 'ALTER TABLE tokens ADD CONSTRAINT a FOREIGN KEY (issued_by) REFERENCES users')
  await query(url, 'ALTER TABLE audit_log ADD CONSTRAINT b FOREIGN KEY (actor_id) REFERENCES users')
  await query(
    url,
    'ALTER TABLE memberships ADD CONSTRAINT c FOREIGN KEY (account_id) REFERENCES accounts',
  )
  expect((await findKeysBetweenSides(url)).sort()).toEqual(['a', 'b', 'c'])
})

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

test('a statement about both sides fails the file that sends it', async () => {
  expect(takeMixedStatements()).toEqual([])
  await db().$queryRaw`SELECT FROM users u WHERE EXISTS (SELECT FROM charges c) AND false`
  await db().user.count({ where: { memberships: { some: { role: 'owner' } } } })
  expect(takeMixedStatements()).toEqual([expect.stringContaining('users u WHERE EXISTS')])
})

test('no function of the database names tables of both sides', () => {
  const folder = 'prisma/functions'
  const mixed = readdirSync(folder).filter(
    file => sidesOf(readFileSync(`${folder}/${file}`, 'utf8')).length > 1,
  )
  expect(mixed).toEqual([])
})
