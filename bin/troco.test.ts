import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client, type QueryResult } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Embedded, openEmbedded } from '#lib/base/db/embedded.ts'
import { listMigrations } from '#lib/base/db/migrate.ts'
import { HOUSE_ACCOUNT_ID } from '#lib/base/ids.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/services/gateway/choose.ts'
import { Authority } from '#lib/testing/authority.ts'
import { makeDatabase } from '#lib/testing/database.ts'
import { type Installation, makeInstallation, processesOf, runTroco } from '#lib/testing/process.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

let installation: Installation
let embedded: Embedded | null = null

beforeAll(async () => {
  installation = await makeInstallation()
})
afterAll(async () => {
  await embedded?.release()
  installation.remove()
})

async function troco(...args: string[]): Promise<{ code: number | null; output: string }> {
  return runTroco(args, installation.settings)
}

/** Returns the last line. The first command also prints the progress of creating the database. */
function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}

/** Keeps PostgreSQL running until the end of the file: else each command starts and stops it. */
async function openDatabase(): Promise<Embedded> {
  const dataFolder = join(installation.folder, 'data')
  const secrets = JSON.parse(readFileSync(join(dataFolder, 'secrets.json'), 'utf8'))
  embedded ??= await openEmbedded({ dataFolder, password: secrets.database })
  return embedded
}

async function queryAsOwner(text: string, values: unknown[]): Promise<QueryResult> {
  const { ownerUrl } = await openDatabase()
  const client = new Client({ connectionString: ownerUrl })
  await client.connect()
  const result = await client.query(text, values)
  await client.end()
  return result
}

test('the command line creates, uses, suspends and activates an account without a server', async () => {
  const opened = await troco('account', 'create', '--name', 'Padaria', '--email', 'P@x.example')
  expect(opened.output).toMatch(/Owner's password, shown only once: \S{20}\n/)
  expect(opened.output).toContain('The owner confirms the e-mail address at the first sign-in.')
  const id = lastLine(opened.output)
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect((await troco('account', 'list')).output).toBe(`${id}\tp@x.example\tactive\tPadaria\n`)
  expect(processesOf(installation)).toEqual([])
  await openDatabase()

  const issued = await troco('token', 'create', '--account', 'p@x.example', '--name', 'shop')
  expect(issued.output).toMatch(/^troco_test_[0-9A-Za-z]{38}\n$/)
  const narrow = await troco(
    'token',
    'create',
    '--account',
    id,
    '--name',
    'n',
    '--mode',
    'live',
    '--permissions',
    'account:read',
    '--addresses',
    '203.0.113.7, 2001:db8:0::/48,203.0.113.7',
  )
  expect(narrow.output).toMatch(/^troco_live_/)
  const stored = await queryAsOwner(`SELECT allowed_addresses FROM tokens WHERE name = $1`, ['n'])
  expect(stored.rows).toEqual([{ allowed_addresses: ['203.0.113.7', '2001:db8::/48'] }])
  expect((await troco('token', 'revoke', issued.output.slice(0, 20))).code).toBe(0)
  const again = await troco('token', 'revoke', issued.output.slice(0, 20))
  expect(again).toEqual({ code: 1, output: 'This token is already revoked\n' })

  expect((await troco('webhook', 'secret', '--account', id)).output).toMatch(
    /^whsec_[A-Za-z0-9+/=]+\n$/,
  )
  expect((await troco('account', 'suspend', id, '--reason', 'asked')).output).toBe(`${id}\n`)
  expect((await troco('account', 'list')).output).toContain('\tsuspended\t')
  expect((await troco('account', 'suspend', id, '--reason', 'asked')).code).toBe(1)
  expect((await troco('account', 'activate', id, '--reason', 'asked')).code).toBe(0)

  const verified = await troco('ledger', 'verify', '--account', id)
  expect(verified.output).toContain('1 transfers, 2 entries, 6 balances of Padaria')
  expect(verified.code).toBe(0)
  const { output } = await troco('doctor')
  expect(output).toContain('ledger verified, 1 transfers')
  expect(output).toContain('audit log unchanged')
  expect(output).toContain('no pooler before the database')
  expect(output).toContain("clock agrees with the database's\n")
})

/** One of each kind of mistake first: the others only in `npm run torture`. */
const REFUSALS: [string[], string][] = [
  [['account', 'create', '--name', 'X', '--email', 'nobody'], 'email must be an e-mail address'],
  [
    ['account', 'suspend', 'nobody@x.example', '--reason', 'r'],
    'No account found for nobody@x.example',
  ],
  [['token', 'create', '--wrong'], "Unknown option '--wrong'"],
  [
    ['bank', 'add', '--name=x', '--kind=efi', '--environment=production', '--settings=nil'],
    'nil cannot be read (ENOENT)',
  ],
  [['bank', 'assign', 'p@x.example'], '--receiving or --paying is missing'],
  [['ledger'], 'Unknown command: ledger'],
  [['account', 'create', '--name', 'X'], '--email is missing'],
  [
    ['token', 'create', '--account', 'p@x.example', '--name', 'x', '--mode', 'real'],
    '--mode must be test or live',
  ],
  [
    ['token', 'create', '--account', 'p@x.example', '--name', 'x', '--addresses', '203.0.113.7/24'],
    '--addresses must be at most 20 IP addresses or CIDR ranges',
  ],
  [
    ['token', 'create', '--account', 'p@x.example', '--name', 'x', '--permissions', 'all'],
    'unknown permissions (all)',
  ],
  [['account', 'write-off', 'p@x.example', '--reason', 'r'], 'The account owes nothing'],
  [
    ['account', 'write-off', 'p@x.example', '--reason', 'r', '--amount', '1,00'],
    '--amount must be a number of cents',
  ],
  [['bank', 'add', '--name', 'x', '--kind', 'efi'], '--environment is missing'],
  [
    ['bank', 'add', '--name', 'x', '--kind', 'itau', '--environment', 'production'],
    'kind must be api_pix or efi',
  ],
  [['bank', 'check', 'nobody'], 'No connection found for nobody'],
]

test.each(REFUSALS.slice(0, pickSize(3, REFUSALS.length)))(
  '%j is refused with a message that names the mistake',
  async (args, message) => {
    const { code, output } = await troco(...args)
    expect(output).toContain(message)
    expect(output).not.toMatch(/^\s+at /m)
    expect(code).toBe(1)
  },
)

test('`troco inbox list` prints what is open, oldest first', async () => {
  await troco('migrate')
  await queryAsOwner(
    `INSERT INTO inbox_items (id, connection_id, kind, key, facts, created_at, resolved_at)
       SELECT gen_random_uuid(), '${SIMULATOR_CONNECTION_ID}', 'payment_unmatched', key,
         json_build_object('amount', 700), '2026-11-21T00:00:00Z'::timestamptz - days * interval '1 day',
         CASE WHEN key = 'E3' THEN now() END
       FROM (VALUES ('E1', 0), ('E2', 1), ('E3', 2)) AS given (key, days)`,
    [],
  )
  const { output, code } = await troco('inbox', 'list')
  const line = (day: number) =>
    `2026-11-${day}T00:00:00.000000Z\tpayment_unmatched\tsimulator\t{"amount":700}\n`
  expect([output, code]).toEqual([line(20) + line(21), 0])
})

test('`troco trace` prints the story of a charge for people or as JSON, and nothing of an unknown id', async () => {
  const made = await troco('account', 'create', '--name', 'Flores', '--email', 'story@x.example')
  const account = lastLine(made.output)
  const { rows } = await queryAsOwner('SELECT id FROM charges WHERE account_id = $1', [account])
  const { output, code } = await troco('trace', rows[0].id)
  expect(code).toBe(0)
  const [title, ...steps] = output.trimEnd().split('\n')
  expect(title).toBe(`charge ${rows[0].id}, account ${account}, test mode`)
  expect(steps[0]).toMatch(/^\S+Z +\+0\.000 s {2}charge +\S+ paid$/)
  expect(steps[1]).toMatch(/^\S+Z +\+\d+\.\d{3} s {2}event +transaction\.paid \S+$/)
  const [story] = JSON.parse((await troco('trace', rows[0].id, '--json')).output)
  expect(story).toMatchObject({ account_id: account, subject: { kind: 'charge', id: rows[0].id } })
  const unknown = await troco('trace', HOUSE_ACCOUNT_ID)
  expect(unknown.code).toBe(1)
  expect(unknown.output).toMatch(/^Nothing is known of this id/)
})

test('`troco ledger verify` checks the house by its id', async () => {
  const { output, code } = await troco('ledger', 'verify', '--account', HOUSE_ACCOUNT_ID)
  expect(output).toContain('0 transfers, 0 entries, 6 balances of the house\n')
  expect(code).toBe(0)
})

/** `lib/services/ledger/verify` finds each corruption without the command. */
testInTorture('`troco ledger verify` names a wrong balance and exits with 1', async () => {
  const made = await troco('account', 'create', '--name', 'Livros', '--email', 'books@x.example')
  const id = lastLine(made.output)
  const changeBalance = (cents: number) =>
    queryAsOwner(
      `UPDATE ledger_accounts SET balance = balance + $2
      WHERE account_id = $1 AND ledger = 'available' AND mode = 'test'`,
      [id, cents],
    )
  await changeBalance(1)
  const broken = await troco('ledger', 'verify')
  expect(broken.code).toBe(1)
  expect(broken.output).toContain(`account ${id}, test: available`)
  expect((await troco('doctor')).output).toMatch(/^WRONG .*available/m)
  await changeBalance(-1)
  expect((await troco('ledger', 'verify')).code).toBe(0)
})

test('a command that the database does not answer says so, without a stack', async () => {
  await troco('account', 'list')
  const { ownerUrl } = await openDatabase()
  const client = new Client({ connectionString: ownerUrl })
  await client.connect()
  await client.query('BEGIN; LOCK TABLE accounts')
  try {
    expect(await troco('account', 'list')).toEqual({
      code: 1,
      output: 'The database did not respond: see what the command has done before you repeat it\n',
    })
  } finally {
    await client.end()
  }
})

const NOTHING_OPEN = 'Still open there: nothing\n'

/** `e2e/banks/bank-command` does much of it, in one process. */
testInTorture(
  '`troco bank` adds a connection, assigns it once it passed its check, and closes it',
  async () => {
    const made = await troco('account', 'create', '--name', 'Feira', '--email', 'feira@x.example')
    const accountId = lastLine(made.output)
    const request = [
      ...['bank', 'add', '--name', 'Banco Azul', '--kind', 'efi', '--environment', 'production'],
      ...['--receiving-key', 'pix@x.example', '--paying-key', '+5511987654321'],
    ]
    expect(await troco(...request)).toEqual({
      code: 1,
      output: expect.stringMatching(/^credentials must be given: client_id, .*\n$/),
    })
    const credentials = join(installation.folder, 'credentials.json')
    const authority = new Authority()
    const { cert: certificate, key: private_key } = authority.issue()
    authority.close()
    const given = { client_id: 'shop', client_secret: 'never-shown', certificate, private_key }
    writeFileSync(credentials, JSON.stringify(given))
    const id = lastLine((await troco(...request, '--credentials', credentials)).output)
    // The bank is not called.
    await queryAsOwner('UPDATE connections SET sealed_credentials = NULL WHERE id = $1', [id])
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
    await queryAsOwner(text, [id])
    const assigned = 'Receives through: Banco Azul. Pays out through: Banco Azul\n'
    expect(await assign()).toEqual({ code: 0, output: `${assigned}${accountId}\n` })
    expect((await list()).output).toContain('\t1\tBanco Azul\n')
    expect((await troco('bank', 'unassign', accountId, '--paying')).code).toBe(0)
    expect(await troco('bank', 'close', 'Banco Azul')).toEqual({
      code: 0,
      output: `Accounts that it was taken from: 1\n${NOTHING_OPEN}${id}\n`,
    })
    const { rows } = await queryAsOwner(
      `SELECT action FROM audit_log WHERE target = $1 OR action LIKE 'account.conn%' ORDER BY id`,
      [id],
    )
    expect(rows.map(({ action }) => action)).toEqual([
      ...['connection.added', 'account.connections_assigned', 'account.connections_assigned'],
      ...['account.connections_assigned', 'connection.disabled'],
    ])
    expect((await list()).output).toBe(`${id}\tefi\tproduction\tclosed\t0\tBanco Azul\n`)
    expect(await troco('bank', 'close', id)).toEqual({
      code: 0,
      output: `Banco Azul is already closed\n${NOTHING_OPEN}${id}\n`,
    })
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
  expect(local).toContain('ok    1 admins, 1 of them without two-factor authentication')
  const { url } = await openDatabase()
  const production = {
    ...{ TROCO_ENV: 'production', DATABASE_URL: url, PUBLIC_URL: 'https://x.example' },
    TROCO_SECRET: 'a-server-key-that-only-this-test-knows-0123456789',
  }
  const doctor = (overrides: object = {}) =>
    runTroco(['doctor'], { ...installation.settings, ...production, ...overrides })
  const { output, code } = await doctor()
  expect(output).toContain('ok    sign-ups invite, new accounts pending')
  expect(output).toMatch(/^WRONG no mail server: .* set SMTP_URL and MAIL_FROM$/m)
  expect(output).toMatch(
    /^WRONG 1 admins, 1 of them without two-factor authentication: each must set it up/m,
  )
  expect(code).toBe(1)
  expect(output).toContain('WRONG 0 workers active in the last minute: start Troco')
  expect(output).toMatch(/^WRONG no backup in the 0 hours of this database/m)
  expect(output).toMatch(/^WRONG TROCO_SECRET has the fingerprint/m)
  const withMailServer = await doctor({ SMTP_URL: 'smtps://user:hidden@mail.padaria.com.br:465' })
  expect(withMailServer.output).toContain('ok    mails are sent through mail.padaria.com.br:465')
  const withPlaceholder = await doctor({ SMTP_URL: 'smtps://user:hidden@smtp.example.com:465' })
  expect(withPlaceholder.output).toContain(
    'WRONG SMTP_URL names smtp.example.com:465, a placeholder: set it to your mail server',
  )
  expect(withMailServer.output).not.toContain('hidden')
})

test('`troco database roles` may be repeated, and names what one role alone still needs; a plan changes nothing', async () => {
  for (let run = 0; run < 2; run++) {
    expect(await troco('database', 'roles')).toEqual({
      code: 0,
      output: 'the database role troco_app owns nothing and only adds to the books\n',
    })
  }
  const single = {
    ...installation.settings,
    ...{ DATABASE_URL: await makeDatabase({ migrated: false }), TROCO_ENV: 'local' },
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
    expect.stringMatching(/^the database role troco owns the tables .* docs\/operating\.md\n$/),
  ])
  const rest = await runTroco(['upgrade', '--plan'], single)
  expect([rest.code, rest.output]).toEqual([0, 'The database is up to date\n'])
})

test('`troco user reset` prints a link for a new password, and refuses an unknown e-mail', async () => {
  const made = await troco('user', 'reset', '--email', 'boss@x.example')
  expect(made.output).toMatch(/^http:\/\/localhost:\d+\/reset\/[\w-]{43}\n$/)
  const unknown = await troco('user', 'reset', '--email', 'nobody@x.example')
  expect([unknown.code, unknown.output]).toEqual([
    1,
    expect.stringContaining('does not belong to a user'),
  ])
})

test('`troco user disconnect` says what follows, and refuses a user without a provider', async () => {
  const made = await troco('user', 'create', '--email', 'ana@x.example')
  const id = lastLine(made.output)
  const refused = await troco('user', 'disconnect', '--email', 'ana@x.example')
  expect([refused.code, refused.output]).toEqual([
    1,
    'email belongs to a user who has connected no OpenID provider\n',
  ])
  await queryAsOwner(
    `UPDATE users SET oidc_subject = 'https://id.example|ana', password_hash = NULL WHERE id = $1`,
    [id],
  )
  const { code, output } = await troco('user', 'disconnect', '--email', 'Ana@x.example')
  expect([code, lastLine(output)]).toEqual([0, id])
  expect(output).toContain('All sessions have ended. The user has no password: ')
  expect((await troco('user', 'disconnect', '--email', 'ana@x.example')).code).toBe(1)
})
