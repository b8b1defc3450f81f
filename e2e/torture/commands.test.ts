import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { type CommandLine, lastLine, openCommandLine } from '#lib/testing/command-line.ts'
import { pickSize } from '#lib/testing/size.ts'
import { testInTorture } from '#lib/testing/torture.ts'

let commandLine: CommandLine
beforeAll(async () => {
  commandLine = await openCommandLine()
})
afterAll(() => commandLine.close())

const troco = (...args: string[]) => commandLine.troco(...args)

test('the command line creates, uses, suspends and activates an account', async () => {
  const opened = await troco('account', 'create', '--name', 'Padaria', '--email', 'P@x.example')
  expect(opened.output).toMatch(/Owner's password, shown only once: \S{20}\n/)
  expect(opened.output).toContain('The owner confirms the e-mail address at the first sign-in.')
  const id = lastLine(opened.output)
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect((await troco('account', 'list')).output).toBe(`${id}\tp@x.example\tactive\tPadaria\n`)

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
  const stored = await commandLine.queryAsOwner(
    `SELECT allowed_addresses FROM tokens WHERE name = $1`,
    ['n'],
  )
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
  expect(verified.output).toContain('1 transfer, 2 entries, 6 balances of Padaria')
  expect(verified.code).toBe(0)
  const { output } = await troco('doctor')
  expect(output).toContain('ledger verified, 1 transfer')
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

const IDS = [newId(), newId(), newId()]

test('`troco differences list` prints what is open or acknowledged, oldest first', async () => {
  await commandLine.queryAsOwner(
    `INSERT INTO differences (id, connection_id, kind, key, facts, created_at, resolved_at,
       resolution)
       SELECT id::uuid, '${SIMULATOR_CONNECTION_ID}', 'payment_unmatched', key,
         json_build_object('amount', 700), '2026-11-21T00:00:00Z'::timestamptz - days * interval '1 day',
         CASE WHEN key <> 'E1' THEN now() END, CASE key WHEN 'E2' THEN 'acknowledge' WHEN 'E3' THEN 'keep' END
       FROM (VALUES ('E1', 0, '${IDS[0]}'), ('E2', 1, '${IDS[1]}'), ('E3', 2, '${IDS[2]}')) AS given (key, days, id)`,
    [],
  )
  const { output, code } = await troco('differences', 'list')
  const line = (day: number, state: string, id = '') =>
    `2026-11-${day}T00:00:00.000000Z\tpayment_unmatched\tsimulator\t{"amount":700}\t${state}\t${id}\n`
  const lines = line(20, 'acknowledged', IDS[1]) + line(21, 'open', IDS[0])
  expect([output, code]).toEqual([lines, 0])
})

test('`troco ledger verify` checks the operator by its id', async () => {
  const { output, code } = await troco('ledger', 'verify', '--account', OPERATOR_ACCOUNT_ID)
  expect(output).toContain('0 transfers, 0 entries, 6 balances of the operator\n')
  expect(code).toBe(0)
})

/** `lib/ledger/verify` finds each corruption without the command. */
testInTorture('`troco ledger verify` names a wrong balance and exits with 1', async () => {
  const made = await troco('account', 'create', '--name', 'Livros', '--email', 'books@x.example')
  const id = lastLine(made.output)
  const changeBalance = (cents: number) =>
    commandLine.queryAsOwner(
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
  const client = new Client({ connectionString: commandLine.ownerUrl })
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

test('a command whose reader stops early ends without an error', async () => {
  const child = spawn(process.execPath, ['bin/troco.ts', 'help'])
  child.stdout.destroy()
  const [problem, [code]] = await Promise.all([text(child.stderr), once(child, 'close')])
  expect({ code, problem }).toEqual({ code: 0, problem: '' })
})
