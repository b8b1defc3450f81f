import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { listMigrations } from '#lib/db/migrate.ts'
import { Authority } from '#lib/testing/authority.ts'
import { type CommandLine, lastLine, openCommandLine } from '#lib/testing/command-line.ts'
import { makeDatabase } from '#lib/testing/database.ts'
import { runTroco } from '#lib/testing/process.ts'
import { testInTorture } from '#lib/testing/torture.ts'

let commandLine: CommandLine
beforeAll(async () => {
  commandLine = await openCommandLine()
})
afterAll(() => commandLine.close())

const troco = (...args: string[]) => commandLine.troco(...args)

const NOTHING_OPEN = 'Still open there: nothing\n'

/** `bank-command` does much of it, in one process. */
testInTorture(
  '`troco bank` adds a connection, assigns it once it passed its check, and closes it',
  async () => {
    const made = await troco('account', 'create', '--name', 'Feira', '--email', 'feira@x.example')
    const accountId = lastLine(made.output)
    const request = [
      'bank',
      'add',
      '--name',
      'Banco Azul',
      '--kind',
      'efi',
      '--environment',
      'production',
      '--receiving-key',
      'pix@x.example',
      '--paying-key',
      '+5511987654321',
    ]
    expect(await troco(...request)).toEqual({
      code: 1,
      output: expect.stringMatching(/^credentials must be given: client_id, .*\n$/),
    })
    const credentials = join(commandLine.folder, 'credentials.json')
    const authority = new Authority()
    const { cert: certificate, key: private_key } = authority.issue()
    authority.close()
    const given = { client_id: 'shop', client_secret: 'never-shown', certificate, private_key }
    writeFileSync(credentials, JSON.stringify(given))
    const id = lastLine((await troco(...request, '--credentials', credentials)).output)
    // The bank is not called.
    await commandLine.queryAsOwner(
      'UPDATE connections SET sealed_credentials = NULL WHERE id = $1',
      [id],
    )
    const list = () => troco('bank', 'list')
    expect((await list()).output).toBe(`${id}\tefi\tproduction\tunserved\t0\tBanco Azul\n`)
    expect(await troco('bank', 'check', 'Banco Azul')).toEqual({
      code: 1,
      output: expect.stringContaining('Banco Azul was not checked: credentials must be given: '),
    })
    const assign = () =>
      troco('bank', 'assign', 'feira@x.example', '--receiving', 'Banco Azul', '--paying', id)
    expect(await assign()).toEqual({
      code: 1,
      output: '--receiving must be a connection that has passed its check\n',
    })
    const text = `UPDATE connections SET check_code = 'ok', checked_at = now() WHERE id = $1`
    await commandLine.queryAsOwner(text, [id])
    const assigned = 'Receives through: Banco Azul. Pays out through: Banco Azul\n'
    expect(await assign()).toEqual({ code: 0, output: `${assigned}${accountId}\n` })
    expect((await list()).output).toContain('\t1\tBanco Azul\n')
    expect((await troco('bank', 'unassign', accountId, '--paying')).code).toBe(0)
    expect(await troco('bank', 'close', 'Banco Azul')).toEqual({
      code: 0,
      output: `Accounts that it was taken from: 1\n${NOTHING_OPEN}${id}\n`,
    })
    const { rows } = await commandLine.queryAsOwner(
      `SELECT action FROM audit_log WHERE target = $1 OR action LIKE 'account.conn%' ORDER BY id`,
      [id],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      'connection.added',
      'account.connections_assigned',
      'account.connections_assigned',
      'account.connections_assigned',
      'connection.disabled',
    ])
    expect((await list()).output).toBe(`${id}\tefi\tproduction\tclosed\t0\tBanco Azul\n`)
    expect(await troco('bank', 'close', id)).toEqual({
      code: 0,
      output: `Banco Azul is already closed\n${NOTHING_OPEN}${id}\n`,
    })
  },
)

/** `bin/commands/trace` prints it in one process. */
testInTorture(
  '`troco trace` prints the trace of a charge for people or as JSON, and nothing of an unknown id',
  async () => {
    const made = await troco('account', 'create', '--name', 'Flores', '--email', 'trace@x.example')
    const account = lastLine(made.output)
    const { rows } = await commandLine.queryAsOwner(
      'SELECT id FROM charges WHERE account_id = $1',
      [account],
    )
    const { output, code } = await troco('trace', rows[0].id)
    expect(code).toBe(0)
    const [title, ...steps] = output.trimEnd().split('\n')
    expect(title).toBe(`charge ${rows[0].id}, account ${account}, test mode`)
    expect(steps[0]).toMatch(/^\S+Z +\+0\.000 s {2}charge +\S+ paid$/)
    expect(steps[1]).toMatch(/^\S+Z +\+\d+\.\d{3} s {2}event +transaction\.paid \S+$/)
    const [trace] = JSON.parse((await troco('trace', rows[0].id, '--json')).output)
    expect(trace).toMatchObject({
      account_id: account,
      subject: { kind: 'charge', id: rows[0].id },
    })
    const unknown = await troco('trace', OPERATOR_ACCOUNT_ID)
    expect(unknown.code).toBe(1)
    expect(unknown.output).toMatch(/^Nothing is known of this id/)
  },
)

test('`troco user create --admin` prints the password once and refuses an e-mail in use', async () => {
  const made = await troco('user', 'create', '--email', 'boss@x.example', '--admin')
  expect(made.output).toMatch(/Password, shown only once: \S{20}\n[0-9a-f-]{36}\n$/)
  expect((await troco('user', 'create', '--email', 'boss@x.example')).output).toContain(
    'belongs to another user',
  )
})

test('`troco doctor` reports the sign-up policy and what production still needs', async () => {
  const { output: local } = await troco('doctor')
  expect(local).toContain('ok    sign-ups open, new accounts active')
  expect(local).toContain('ok    no mail server: mails are written to the log')
  expect(local).toContain('ok    1 admin, 1 of them without two-factor authentication')
  const production = {
    TROCO_ENV: 'production',
    PUBLIC_URL: 'https://x.example',
    TROCO_SECRET: 'a-server-key-that-only-this-test-knows-0123456789',
  }
  const doctor = (overrides: object = {}) =>
    runTroco(['doctor'], { ...commandLine.settings, ...production, ...overrides })
  const { output, code } = await doctor()
  expect(output).toContain('ok    sign-ups invite, new accounts pending')
  expect(output).toMatch(/^WRONG no mail server: .* set SMTP_URL and MAIL_FROM$/m)
  expect(output).toMatch(
    /^WRONG 1 admin, 1 of them without two-factor authentication: each must set it up/m,
  )
  expect(code).toBe(1)
  expect(output).toContain('WRONG 0 workers active in the last minute: start Troco')
  expect(output).toMatch(/^WRONG no backup since this database was created 0 hours ago/m)
  expect(output).toMatch(/^WRONG TROCO_SECRET has the fingerprint/m)
  const withMailServer = await doctor({ SMTP_URL: 'smtps://user:hidden@mail.padaria.com.br:465' })
  expect(withMailServer.output).toContain('ok    mails are sent through mail.padaria.com.br:465')
  const withPlaceholder = await doctor({ SMTP_URL: 'smtps://user:hidden@smtp.example.com:465' })
  expect(withPlaceholder.output).toContain(
    'WRONG SMTP_URL names smtp.example.com:465, a placeholder: set it to your mail server',
  )
  expect(withMailServer.output).not.toContain('hidden')
})

/** `lib/db/roles` and `lib/db/migration-plan` do it in one process. */
testInTorture(
  '`troco database roles` may be repeated, and names what one role alone still needs; a plan changes nothing',
  async () => {
    for (let run = 0; run < 2; run++) {
      expect(await troco('database', 'roles')).toEqual({
        code: 0,
        output: 'the database role troco_app owns nothing and only adds to the books\n',
      })
    }
    const single = {
      ...commandLine.settings,
      DATABASE_URL: await makeDatabase({ migrated: false }),
      DATABASE_OWNER_URL: '',
    }
    const plan = await runTroco(['upgrade', '--plan'], single)
    expect(plan.code).toBe(0)
    expect(plan.output).toMatch(/^Requests (wait|go on) meanwhile/)
    expect(plan.output).toMatch(/^Pending migrations: \d+, functions created or replaced: \d+$/m)
    expect(plan.output).toContain('upgrade --plan --long')
    expect(plan.output.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
    const long = await runTroco(['upgrade', '--plan', '--long'], single)
    for (const name of listMigrations()) expect(long.output).toContain(`\n${name}\n`)
    const { code, output } = await runTroco(['database', 'roles'], single)
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(
        /^the database role troco owns the tables .* docs\/operate\/security\.md\n$/,
      ),
    ])
    const rest = await runTroco(['upgrade', '--plan'], single)
    expect([rest.code, rest.output]).toEqual([0, 'The database is up to date\n'])
  },
)

test('`troco user reset` prints a link for a new password, and refuses an unknown e-mail', async () => {
  const made = await troco('user', 'reset', '--email', 'boss@x.example')
  expect(made.output).toMatch(/^http:\/\/localhost:\d+\/reset\/[\w-]{43}\n$/)
  const unknown = await troco('user', 'reset', '--email', 'nobody@x.example')
  expect([unknown.code, unknown.output]).toEqual([
    1,
    expect.stringContaining('does not belong to a user'),
  ])
})

testInTorture(
  '`troco user disconnect` says what follows, and refuses a user without a provider',
  async () => {
    const made = await troco('user', 'create', '--email', 'ana@x.example')
    const id = lastLine(made.output)
    const refused = await troco('user', 'disconnect', '--email', 'ana@x.example')
    expect([refused.code, refused.output]).toEqual([
      1,
      'email belongs to a user who has connected no OpenID provider\n',
    ])
    await commandLine.queryAsOwner(
      `UPDATE users SET oidc_subject = 'https://id.example|ana', password_hash = NULL WHERE id = $1`,
      [id],
    )
    const { code, output } = await troco('user', 'disconnect', '--email', 'Ana@x.example')
    expect([code, lastLine(output)]).toEqual([0, id])
    expect(output).toContain('All sessions have ended. The user has no password: ')
    expect((await troco('user', 'disconnect', '--email', 'ana@x.example')).code).toBe(1)
  },
)
