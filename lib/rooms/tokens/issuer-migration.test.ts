import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '#lib/base/db/migrate.ts'
import { newId } from '#lib/base/ids.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

const MIGRATIONS = 'prisma/migrations'

/** Creates a database as it was before tokens had an issuer. */
async function openEarlierDatabase(): Promise<string> {
  const url = await makeDatabase({ migrated: false })
  const folder = mkdtempSync(join(tmpdir(), 'troco-earlier-'))
  for (const name of readdirSync(MIGRATIONS).filter(one => one < '20261122040000')) {
    cpSync(join(MIGRATIONS, name), join(folder, name), { recursive: true })
  }
  await migrate(url, { folder })
  rmSync(folder, { recursive: true })
  return url
}

test('the issuers of an existing token come from the audit log, in its own account only', async () => {
  const url = await openEarlierDatabase()
  const [account, other, member, byMember, byOperator] = Array.from({ length: 5 }, newId)
  const audit = (accountId = '', actor: string | null, target = '', action = 'token.issued') => `
    INSERT INTO audit_log (id, account_id, actor_type, actor_id, action, target, before) VALUES
      ('${newId()}', '${accountId}', '${actor ? 'user' : 'command_line'}',
        ${actor ? `'${actor}'` : 'NULL'}, '${action}', '${target}', '{"issued_by": "${other}"}');`
  const token = (id = '', digit: string) => `
    INSERT INTO tokens (account_id, id, mode, name, hash, prefix, last_four, permissions) VALUES
      ('${account}', '${id}', 'test', 'x', decode(repeat('${digit}', 64), 'hex'), 'x', 'x', '{}');`
  await query(
    url,
    `INSERT INTO users (id, email, name, updated_at) VALUES ('${member}', 'a@b.example', 'Ana', now());
    INSERT INTO accounts (id, name, city, updated_at) VALUES ('${account}', 'Loja', 'RECIFE', now()),
      ('${other}', 'Outra', 'RECIFE', now());
    ${token(byMember, '1')} ${token(byOperator, '2')}
    ${audit(account, member as string, byMember)} ${audit(account, null, byOperator)}
    ${audit(other, member as string, byOperator)}
    ${audit(account, member as string, byOperator, 'token.rotated')}
    ${audit(account, member as string, byMember, 'token.adopted')}
    ${audit(other, member as string, byOperator, 'token.adopted')}`,
  )
  await migrate(url)
  expect(
    await query(url, 'SELECT id, issued_by, former_issuers FROM tokens ORDER BY hash'),
  ).toEqual([
    { id: byMember, issued_by: member, former_issuers: [other] },
    { id: byOperator, issued_by: null, former_issuers: [] },
  ])
})
