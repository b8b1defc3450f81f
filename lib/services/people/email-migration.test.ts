import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listMigrations, migrate } from '#lib/base/db/migrate.ts'
import { newId } from '#lib/base/ids.ts'
import { query } from '#lib/testing/embedded.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'

const MIGRATIONS = 'prisma/migrations'
const FIRST = '20261122070000_email_proofs'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troco-before-proofs-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

test('people of before count as proven if they joined, reset or bound; others do not', async () => {
  for (const name of listMigrations().filter(name => name < FIRST)) {
    cpSync(join(MIGRATIONS, name), join(folder, name), { recursive: true })
  }
  const url = await makeDatabase({ migrated: false })
  await migrate(url, { folder })
  const ids = Object.fromEntries(
    ['member', 'invited', 'reset', 'bound', 'made', 'folded'].map(name => [name, newId()]),
  )
  const accountId = newId()
  const users = Object.entries(ids).map(
    ([name, id]) => `('${id}', '${name === 'folded' ? 'İpek' : name}@b.example', '${name}', now(),
      ${name === 'bound' ? "'issuer|sub'" : 'NULL'})`,
  )
  await query(
    url,
    `INSERT INTO users (id, email, name, updated_at, oidc_subject) VALUES ${users};
    INSERT INTO accounts (id, name, updated_at) VALUES ('${accountId}', 'Loja', now());
    INSERT INTO memberships (account_id, user_id, role) VALUES
      ('${accountId}', '${ids.member}', 'owner'), ('${accountId}', '${ids.folded}', 'viewer');
    INSERT INTO invitations (id, hash, account_id, email, role, expires_at, accepted_at) VALUES
      ('${newId()}', '\\x01', '${accountId}', 'invited@b.example', 'viewer', now(), now()),
      ('${newId()}', '\\x02', '${accountId}', 'made@b.example', 'viewer', now(), NULL);
    INSERT INTO audit_log (id, actor_type, action, target) VALUES
      ('${newId()}', 'user', 'user.password_reset', '${ids.reset}')`,
  )
  await migrate(url)
  const rows = await query(
    url,
    `SELECT name, email_verified_by AS proof, email_verified_at IS NOT NULL AS at, is_email_verified
    FROM users ORDER BY name`,
  )
  const proven = { proof: 'migration', at: true, is_email_verified: true }
  expect(rows).toEqual([
    { name: 'bound', ...proven },
    { name: 'folded', ...proven },
    { name: 'invited', ...proven },
    { name: 'made', proof: null, at: false, is_email_verified: false },
    { name: 'member', ...proven },
    { name: 'reset', ...proven },
  ])
  // The row that was folded otherwise can still change; a new one like it is refused.
  await query(url, `UPDATE users SET locale = 'en' WHERE id = '${ids.folded}'`)
  for (const email of ['ANA@b.example', ' ana@b.example', 'İ@b.example']) {
    const values = `('${newId()}', '${email}', 'x', now())`
    const insertion = query(url, `INSERT INTO users (id, email, name, updated_at) VALUES ${values}`)
    await expect(insertion, email).rejects.toThrow(/users_email_ascii/)
  }
})
