import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { listAccounts } from '#lib/accounts/queries.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { keepUnmatched } from '#lib/charges/receive.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { payFees } from '#lib/differences/differences.ts'
import { checkLedgers } from '#lib/ledger/check.ts'
import { countPendingAccounts, listAccountLines, readAccount } from '#lib/operator/accounts.ts'
import { readHealth } from '#lib/operator/health.ts'
import { ownerUrlOf, superuserUrlOf } from '#lib/testing/database.ts'
import {
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'

// The operator is one per database: tests that run at the same time would see each other's movements.
inOwnDatabase()

let owner: Client
let merchant: Account
beforeAll(async () => {
  owner = new Client({ connectionString: ownerUrlOf() })
  await owner.connect()
  merchant = await makeMerchant()
  await fundMerchant(merchant, 5_000)
})
afterAll(() => owner.end())

/** Runs a statement as the table owner and rolls it back; returns the violated constraint. */
async function findBrokenConstraint(sql: string, values?: unknown[]): Promise<string | undefined> {
  await owner.query('BEGIN')
  try {
    await owner.query(sql, values)
    return undefined
  } catch (error) {
    return (error as DatabaseError).constraint
  } finally {
    await owner.query('ROLLBACK')
  }
}

test("a database has one operator's account, with three ledgers in each mode", async () => {
  const rows = await db().ledgerAccount.findMany({
    where: { accountId: OPERATOR_ACCOUNT_ID },
    orderBy: [{ mode: 'asc' }, { ledger: 'asc' }],
  })
  expect(rows.map(({ mode, ledger }) => `${mode} ${ledger}`)).toEqual([
    'live external',
    'live own',
    'live unmatched',
    'test external',
    'test own',
    'test unmatched',
  ])
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
})

describe('the database keeps the operator apart from merchants', () => {
  const INSERT = 'INSERT INTO ledger_accounts (account_id, mode, ledger) VALUES ($1, $2, $3)'

  test('no merchant has its id', async () => {
    const sql = 'INSERT INTO accounts (id, name) VALUES ($1, $2)'
    expect(await findBrokenConstraint(sql, [OPERATOR_ACCOUNT_ID, 'x'])).toBe(
      'accounts_not_operator',
    )
  })

  test.each(['available', 'outbound'])('the operator has no ledger "%s"', async ledger => {
    expect(await findBrokenConstraint(INSERT, [OPERATOR_ACCOUNT_ID, 'test', ledger])).toBe(
      'ledger_accounts_ledger_known',
    )
  })

  test.each(['own', 'unmatched'])('a merchant has no ledger "%s"', async ledger => {
    expect(await findBrokenConstraint(INSERT, [merchant.id, 'test', ledger])).toBe(
      'ledger_accounts_ledger_known',
    )
  })

  test.each([
    ['own', -1, undefined],
    ['own', 1, undefined],
    ['unmatched', -1, 'ledger_accounts_unmatched_not_negative'],
    ['external', -1, undefined],
    ['external', 1, undefined],
  ])('its ledger "%s" at %i: %s', async (ledger, balance, rule) => {
    const sql = `UPDATE ledger_accounts SET balance = $1
      WHERE account_id = $2 AND mode = 'test' AND ledger = $3`
    expect(await findBrokenConstraint(sql, [balance, OPERATOR_ACCOUNT_ID, ledger])).toBe(rule)
  })
})

test('no list, count, search or figure of merchants changes with the money of the operator', async () => {
  await checkLedgers()
  const readMerchants = async () => ({
    lines: await listAccountLines({}),
    searched: await listAccountLines({ q: OPERATOR_ACCOUNT_ID }),
    detail: await readAccount(OPERATOR_ACCOUNT_ID),
    pending: await countPendingAccounts(),
    listed: await listAccounts(),
    figures: (await readHealth()).checks.find(({ name }) => name === 'ledger')?.figures.accounts,
  })
  const before = await readMerchants()
  expect(before).toMatchObject({ searched: { rows: [] }, detail: null, figures: 1 })
  const connection = { connectionId: SIMULATOR_CONNECTION_ID, mode: 'test' } as const
  await keepUnmatched([{ payment: makePayment(700), ...connection }])
  await payFees([{ ...connection, bankId: newId(), amount: 120, at: new Date(), isReturn: false }])
  expect(await readMerchants()).toEqual(before)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  await expectBalancedLedger(merchant.id)
})

test('the worker checks the books of the operator, and the health page reports them', async () => {
  const corrupt = async (difference: number) => {
    const client = new Client({ connectionString: superuserUrlOf() })
    await client.connect()
    await client.query('SET session_replication_role = replica')
    await client.query(
      `UPDATE ledger_accounts SET balance = balance + $1
       WHERE account_id = $2 AND mode = 'test' AND ledger = 'own'`,
      [difference, OPERATOR_ACCOUNT_ID],
    )
    await client.end()
    await db().$executeRaw`DELETE FROM ledger_checks`
    await checkLedgers()
    const { checks } = await readHealth()
    return checks.filter(({ name }) => name === 'ledger').map(({ state }) => state)
  }
  expect(await corrupt(1)).toEqual(['books_right', 'operator_books_wrong'])
  expect(await corrupt(-1)).toEqual(['books_right'])
})

const OF_ONE = 'reads one account'
const OF_CONNECTION = 'reads what moved through a bank, of the operator and of merchants alike'
const OF_ALL = 'reads all books, those of the operator included'
/** Product code that names a ledger table, and why it shows no money of the operator as a merchant's. */
const LEDGER_READERS: Record<string, string> = {
  'bin/commands/restore.ts': 'names the last movement, whosever it is',
  'lib/accounts/write-off.ts': OF_ONE,
  'lib/db/roles.ts': 'names the tables only',
  'lib/operator/reconciliation/balance.ts': OF_CONNECTION,
  'lib/operator/reconciliation/rows.ts': OF_CONNECTION,
  'lib/ledger/book.ts': OF_ONE,
  'lib/ledger/check.ts': OF_ALL,
  'lib/ledger/statement.ts': OF_ONE,
  'lib/ledger/invariants.ts': OF_ALL,
  'lib/ledger/owed.ts': OF_ONE,
  'lib/operator/accounts.ts': 'reads the ledgers of rows of accounts',
  'lib/operator/database.ts': 'counts rows only',
  'lib/operator/banks/list.ts': 'leaves the operator out of what merchants own',
  'lib/operator/health.ts': 'reads the checks of rows of accounts, and that of the operator apart',
  'lib/dashboard/timeline.ts': OF_ONE,
  'lib/dashboard/home.ts': OF_ONE,
  'lib/dashboard/statement.ts': OF_ONE,
}

test('every reader of the ledger is listed with what it does about the operator', () => {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  const readers = files
    .split('\n')
    .filter(path => /^(app|bin|lib|prisma)\/.*\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .filter(path => !path.startsWith('lib/testing/'))
    .filter(path =>
      /\bledger_(accounts|checks|entries|transfers)\b|\.ledger(Account|Check|Entry|Transfer)\./.test(
        readFileSync(path, 'utf8'),
      ),
    )
  expect(readers.toSorted()).toEqual(Object.keys(LEDGER_READERS).toSorted())
})
