import { Client } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { connect, db, Prisma } from '#lib/db/client.ts'
import { bookSql, type Movement } from '#lib/ledger/book.ts'
import {
  accountScope,
  checkLedger,
  limitPlans,
  type Verification,
  verifyLedger,
} from '#lib/ledger/check.ts'
import { ROW_INVARIANTS, violationSql } from '#lib/ledger/invariants.ts'
import { ownerUrlOf, superuserUrlOf } from '#lib/testing/database.ts'
import { fundMerchant, inOwnDatabase, makeDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { pickInTurn } from '#lib/testing/turn.ts'

const ACCOUNT = '0190a000-0000-7000-8000-00000000000a'
const OTHER_ACCOUNT = '0190a000-0000-7000-8000-00000000000b'
const ID = {
  paid: '0190a000-0000-7000-8000-000000000001',
  paidLater: '0190a000-0000-7000-8000-000000000002',
  open: '0190a000-0000-7000-8000-000000000003',
  held: '0190a000-0000-7000-8000-000000000004',
  sent: '0190a000-0000-7000-8000-000000000005',
  returned: '0190a000-0000-7000-8000-000000000006',
  refundHeld: '0190a000-0000-7000-8000-000000000007',
  refundSent: '0190a000-0000-7000-8000-000000000008',
  refundReturned: '0190a000-0000-7000-8000-000000000009',
  payment: '0190a000-0000-7000-8000-00000000000a',
}
const UNKNOWN_IDS = ['0190a000-0000-7000-8000-0000000000f1', '0190a000-0000-7000-8000-0000000000f2']

const INVARIANTS = {
  transfer: 'every transfer has two entries that sum to zero, on its debit and its credit side',
  entry: 'every entry belongs to a transfer',
  running: "every entry's balance is the one before it plus its amount, with no entry missing",
  balance: 'every balance is the sum of its entries, and its version their number',
  three: 'the balances of an account sum to zero, and each has its sign',
  owed: 'nothing is available to an account that owes, and its two records of it agree',
  owner: 'every balance belongs to a merchant or to the operator',
  held: 'the held amount equals the pending withdrawals and refunds',
  charges: 'exactly the paid charges were credited, each with its amount',
  outgoing:
    'every withdrawal and refund was held once, then sent or returned according to its status',
  connection: 'every transfer of a payment names the connection of its charge or withdrawal',
  returns: 'every withdrawal stores what came back of it, and each return was credited once',
  unmatched:
    'exactly the unmatched payments were moved to `unmatched`, each with its amount, and only matched ones pay charges',
  claims: 'every claimed payment is a paid charge, a payment or a return, with its id',
  counted: 'every charge stores its refunded amount and the amount held for refunds',
  paymentReturns:
    'every return of a payment by the bank moved its amount, but for what a lost dispute took',
  disputes: 'every dispute was held once, then released or lost according to its status',
  fees: 'exactly the fees of banks were paid by the operator or returned to it',
  writeOffs: 'what was written off of an account was paid by the operator, and nothing else',
  settlements: 'every resolved payment left `unmatched` once, for whom its resolution names',
  corrections: 'every entry of two admins was booked once on both of its sides, and no other was',
}
type InvariantName = keyof typeof INVARIANTS

/** Writes a valid history: 10 entries in `available`, 10 in `outbound` and 4 in `external`. */
async function writeHistory(client: Client, accountId: string): Promise<void> {
  await client.query(`
    INSERT INTO accounts (id, name) VALUES ('${accountId}', 'Padaria');
    SELECT troco_open_books('${accountId}');
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
        client_name, client_email, client_doc, expires_at, paid_at, refunded_amount,
        refund_held_amount)
      SELECT '${accountId}', id::uuid, 'test', status, 10000, id, '${accountId}' || id, '-', '-',
        '-', '-', now(), CASE WHEN status = 'paid' THEN now() END,
        CASE WHEN id = '${ID.paid}' THEN 200 ELSE 0 END,
        CASE WHEN id = '${ID.paid}' THEN 100 ELSE 0 END
      FROM (VALUES ('${ID.paid}', 'paid'), ('${ID.paidLater}', 'paid'), ('${ID.open}', 'pending'))
        AS given (id, status);
    INSERT INTO withdrawals (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
        approved_at, rejected_at, rejection_reason)
      VALUES ('${accountId}', '${ID.held}', 'test', 'pending', 1000, 'email', '-', '-',
          NULL, NULL, NULL),
        ('${accountId}', '${ID.sent}', 'test', 'approved', 2000, 'email', '-', '-',
          now(), NULL, NULL),
        ('${accountId}', '${ID.returned}', 'test', 'rejected', 3000, 'email', '-', '-',
          NULL, now(), '-');
    INSERT INTO refunds (account_id, id, charge_id, mode, status, amount, completed_at,
        rejected_at, rejection_reason)
      VALUES ('${accountId}', '${ID.refundHeld}', '${ID.paid}', 'test', 'pending', 100,
          NULL, NULL, NULL),
        ('${accountId}', '${ID.refundSent}', '${ID.paid}', 'test', 'completed', 200,
          now(), NULL, NULL),
        ('${accountId}', '${ID.refundReturned}', '${ID.paid}', 'test', 'rejected', 300,
          NULL, now(), '-')`)
  await move(client, accountId, 'charge_paid', ID.paid, 10_000)
  await move(client, accountId, 'withdrawal_held', ID.held, 1_000)
  await move(client, accountId, 'withdrawal_held', ID.sent, 2_000)
  await move(client, accountId, 'withdrawal_sent', ID.sent, 2_000)
  await move(client, accountId, 'withdrawal_held', ID.returned, 3_000)
  await move(client, accountId, 'withdrawal_returned', ID.returned, 3_000)
  await move(client, accountId, 'charge_paid', ID.paidLater, 10_000)
  await move(client, accountId, 'refund_held', ID.refundHeld, 100)
  await move(client, accountId, 'refund_held', ID.refundSent, 200)
  await move(client, accountId, 'refund_sent', ID.refundSent, 200)
  await move(client, accountId, 'refund_held', ID.refundReturned, 300)
  await move(client, accountId, 'refund_returned', ID.refundReturned, 300)
}

/** A payment in `unmatched` of the operator. */
async function writeUnmatched(client: Client): Promise<void> {
  await client.query(`
    INSERT INTO unmatched_payments (account_id, id, mode, connection_id, end_to_end_id, amount, paid_at, reason)
      VALUES ('${OPERATOR_ACCOUNT_ID}', '${ID.payment}', 'test', '${SIMULATOR_CONNECTION_ID}',
        'E-stray', 500, now(), 'payment_unmatched')`)
  await move(client, OPERATOR_ACCOUNT_ID, 'unmatched_received', ID.payment, 500)
}

async function move(
  client: Client,
  accountId: string,
  movement: Movement,
  id: string,
  amount: number,
): Promise<void> {
  const source = `SELECT '${accountId}'::uuid AS account_id, 'test' AS mode, '${id}'::uuid AS id,
    ${amount}::bigint AS amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id`
  await client.query(
    `WITH source AS (${source}), booked AS (${bookSql(movement).text}) SELECT FROM booked`,
  )
}

async function run(url: string, statements: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statements)
  } finally {
    await client.end()
  }
}

async function runVerification(url: string, accountId?: string): Promise<Verification> {
  const database = connect({ url, poolMax: 1 })
  try {
    return await verifyLedger(database, accountId)
  } finally {
    await database.$disconnect()
  }
}

/** Violations in each part: one account, or everything if undefined. */
async function findViolations(
  url: string,
  ...parts: (string | undefined)[]
): Promise<Record<string, string>[]> {
  const database = connect({ url, poolMax: 1 })
  const found: Record<string, string>[] = []
  try {
    for (const accountId of parts) {
      const { findings } = await verifyLedger(database, accountId)
      found.push(
        Object.fromEntries(
          findings.flatMap(({ invariant, violation }) =>
            violation ? [[invariant, violation]] : [],
          ),
        ),
      )
    }
    return found
  } finally {
    await database.$disconnect()
  }
}

/** Checks an account as a worker does a week later. Returns what is wrong. */
async function checkAgain(url: string, accountId: string): Promise<string | null> {
  const database = connect({ url, poolMax: 1 })
  try {
    await database.$executeRaw`UPDATE ledger_slices SET begun_at = begun_at - interval '7 days'`
    await checkLedger(database, accountId)
    return (await database.ledgerCheck.findUniqueOrThrow({ where: { accountId } })).wrong
  } finally {
    await database.$disconnect()
  }
}

/**
 * Runs statements as superuser with all triggers and foreign keys disabled
 * (session_replication_role).
 */
function corrupt(url: string, statements: string): Promise<void> {
  return run(superuserUrlOf(url), `SET session_replication_role = replica; ${statements}`)
}

/** URL of a database with the history. Tests that change rows work on a copy. */
let template: string
beforeAll(async () => {
  template = await makeDatabase()
  const client = new Client({ connectionString: template })
  await client.connect()
  await writeHistory(client, ACCOUNT)
  await writeHistory(client, OTHER_ACCOUNT)
  await writeUnmatched(client)
  await client.end()
  for (const id of [ACCOUNT, OTHER_ACCOUNT, OPERATOR_ACCOUNT_ID])
    expect(await checkAgain(template, id)).toBeNull()
})

async function copyHistory(): Promise<string> {
  const copy = new URL(template)
  const name = `test_${newId().replaceAll('-', '')}`
  await run(ownerUrlOf(), `CREATE DATABASE ${name} TEMPLATE ${copy.pathname.slice(1)}`)
  copy.pathname = `/${name}`
  return copy.href
}

test('a valid history has no findings, and the checked rows are counted', async () => {
  const all = await runVerification(template)
  expect(all.findings).toEqual(
    Object.values(INVARIANTS).map(invariant => ({ invariant, violation: null })),
  )
  expect(all).toMatchObject({ transfers: 25, entries: 50, ledgers: 18 })
  const ofAccount = await runVerification(template, ACCOUNT)
  expect(ofAccount).toMatchObject({ transfers: 12, entries: 24, ledgers: 6 })
})

const accountFilter = `account_id = '${ACCOUNT}' AND mode = 'test'`
const transferFilter = (id: string, kind: string) =>
  `account_id = '${ACCOUNT}' AND subject_id = '${id}' AND kind = '${kind}'`

function moveUnmatched(movement: Movement, accountId: string): string {
  return `WITH source AS (SELECT '${accountId}'::uuid AS account_id, 'test' AS mode,
      '${ID.payment}'::uuid AS id, 500::bigint AS amount, NULL::timestamptz AS booked_at,
      '${SIMULATOR_CONNECTION_ID}'::uuid AS connection_id),
    booked AS (${bookSql(movement).text}) SELECT FROM booked`
}

function insertPaymentReturn(amount: number, disputed = 0): string {
  return `INSERT INTO payment_returns (account_id, id, mode, connection_id, end_to_end_id, return_id, charge_id,
      amount, disputed_amount, returned_at)
    VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', '-', '-', '${ID.paid}',
      ${amount}, ${disputed}, now())`
}

/** Title, corruption, and the row that must be reported for each violated invariant. */
type Corruption = [title: string, sql: string, found: Partial<Record<InvariantName, string>>]
const CORRUPTIONS: Corruption[] = [
  [
    "a transfer's amount was changed",
    `UPDATE ledger_transfers SET amount = 999 WHERE ${transferFilter(ID.held, 'withdrawal_held')}`,
    {
      transfer: `transfer withdrawal_held of ${ID.held}`,
      outgoing: `withdrawal ${ID.held}`,
    },
  ],
  [
    "a transfer's debit and credit were swapped",
    `ALTER TABLE ledger_transfers DROP CONSTRAINT ledger_transfers_kind_known;
     UPDATE ledger_transfers SET debit = credit, credit = debit
     WHERE ${transferFilter(ID.sent, 'withdrawal_sent')}`,
    { transfer: `transfer withdrawal_sent of ${ID.sent}` },
  ],
  [
    'an entry differs from its counterpart, but every running balance is correct',
    // Entry 2 debits 100 less and entry 3 debits 100 more, so that later balances do not change.
    `UPDATE ledger_entries SET amount = amount + 100, balance_after = balance_after + 100
       WHERE ${accountFilter} AND ledger = 'available' AND version = 2;
     UPDATE ledger_entries SET amount = amount - 100
       WHERE ${accountFilter} AND ledger = 'available' AND version = 3`,
    { transfer: `transfer withdrawal_held of ${ID.held}` },
  ],
  [
    'a transfer has lost its entries',
    `INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount)
     VALUES ('${ACCOUNT}', 'charge_paid', '${ID.open}', 'test', 'external', 'available', 10000);
     UPDATE charges SET status = 'paid', paid_at = now()
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.open}'`,
    { transfer: `transfer charge_paid of ${ID.open}` },
  ],
  [
    'entries were added without a transfer',
    `INSERT INTO ledger_entries
       (account_id, mode, ledger, version, kind, subject_id, amount, balance_after)
     SELECT account_id, mode, ledger, version + nth, 'charge_paid', id::uuid, amount,
       CASE WHEN nth = 1 THEN balance + 500 ELSE balance END
     FROM ledger_accounts, (VALUES (1, '${UNKNOWN_IDS[0]}', 500), (2, '${UNKNOWN_IDS[1]}', -500))
       AS given (nth, id, amount)
     WHERE ${accountFilter} AND ledger = 'available';
     UPDATE ledger_accounts SET version = version + 2 WHERE ${accountFilter} AND ledger = 'available'`,
    { entry: 'available entry 11' },
  ],
  [
    'a transfer was deleted, but not its entries',
    `DELETE FROM ledger_transfers WHERE ${transferFilter(ID.paid, 'charge_paid')}`,
    { entry: 'available entry 1', charges: `charge ${ID.paid}` },
  ],
  [
    "an entry's balance-after was changed",
    `UPDATE ledger_entries SET balance_after = balance_after + 1
     WHERE ${accountFilter} AND ledger = 'outbound' AND version = 3`,
    { running: 'outbound entry 3' },
  ],
  [
    'an entry was moved, which leaves a gap before it',
    `UPDATE ledger_entries SET version = version + 1
     WHERE ${accountFilter} AND ledger = 'external' AND version = 4`,
    { running: 'external entry 5' },
  ],
  [
    'a balance was changed',
    `UPDATE ledger_accounts SET balance = balance + 1 WHERE ${accountFilter} AND ledger = 'available'`,
    { balance: 'available balance', three: 'balances' },
  ],
  [
    'money was moved between two balances without an entry',
    `UPDATE ledger_accounts SET balance = balance + CASE ledger WHEN 'available' THEN 5 ELSE -5 END
     WHERE ${accountFilter} AND ledger <> 'outbound'`,
    { balance: 'available balance' },
  ],
  [
    'a version was changed',
    `UPDATE ledger_accounts SET version = version + 1 WHERE ${accountFilter} AND ledger = 'outbound'`,
    { balance: 'outbound balance' },
  ],
  [
    'an entry was deleted and the balance adjusted',
    `DELETE FROM ledger_entries WHERE ${accountFilter} AND ledger = 'available' AND version = 10;
     UPDATE ledger_accounts SET balance = balance - 300, version = version - 1
     WHERE ${accountFilter} AND ledger = 'available'`,
    { transfer: `transfer refund_returned of ${ID.refundReturned}`, three: 'balances' },
  ],
  [
    'one of the three ledgers is gone',
    `DELETE FROM ledger_accounts
     WHERE account_id = '${ACCOUNT}' AND mode = 'live' AND ledger = 'external'`,
    { three: 'live: balances' },
  ],
  [
    "an account's row is gone",
    `DELETE FROM accounts WHERE id = '${ACCOUNT}'`,
    { owner: 'live: available balance' },
  ],
  [
    'more was withdrawn than the balance, without the CHECK',
    `ALTER TABLE ledger_accounts DROP CONSTRAINT ledger_accounts_available_not_negative;
     INSERT INTO withdrawals
       (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key)
     VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', 'pending', 90000, 'email', '-', '-');
     WITH source AS (SELECT '${ACCOUNT}'::uuid AS account_id, 'test' AS mode,
       '${UNKNOWN_IDS[0]}'::uuid AS id, 90000::bigint AS amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id),
     booked AS (${bookSql('withdrawal_held').text}) SELECT FROM booked`,
    { three: 'balances' },
  ],
  [
    'a pending withdrawal was marked approved, but its amount is still held',
    `UPDATE withdrawals SET status = 'approved', approved_at = now()
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.held}'`,
    { held: 'outbound balance', outgoing: `withdrawal ${ID.held}` },
  ],
  [
    'a pending refund was deleted, but its amount is still held',
    `DELETE FROM refunds WHERE account_id = '${ACCOUNT}' AND id = '${ID.refundHeld}'`,
    {
      held: 'outbound balance',
      outgoing: `transfer refund_held of ${ID.refundHeld}`,
      counted: `charge ${ID.paid}`,
    },
  ],
  [
    "a pending withdrawal's amount was changed",
    `UPDATE withdrawals SET amount = 1001 WHERE account_id = '${ACCOUNT}' AND id = '${ID.held}'`,
    { held: 'outbound balance', outgoing: `withdrawal ${ID.held}` },
  ],
  [
    'a charge was marked paid, but never credited',
    `UPDATE charges SET status = 'paid', paid_at = now()
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.open}'`,
    { charges: `charge ${ID.open}` },
  ],
  [
    'a credited charge was marked expired',
    `UPDATE charges SET status = 'expired', paid_at = NULL
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.paidLater}'`,
    { charges: `transfer charge_paid of ${ID.paidLater}` },
  ],
  [
    "a paid charge's amount was changed",
    `UPDATE charges SET amount = 500 WHERE account_id = '${ACCOUNT}' AND id = '${ID.paidLater}'`,
    { charges: `charge ${ID.paidLater}` },
  ],
  [
    'a paid charge was moved to the other mode',
    `UPDATE charges SET mode = 'live', connection_id = '${ID.paid}'
      WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    {
      charges: `live: charge ${ID.paid}`,
      connection: `transfer charge_paid of ${ID.paid}`,
      counted: `live: charge ${ID.paid}`,
    },
  ],
  [
    'a charge that does not exist was credited with a complete transfer',
    `WITH source AS (SELECT '${ACCOUNT}'::uuid AS account_id, 'test' AS mode,
       '${UNKNOWN_IDS[0]}'::uuid AS id, 777::bigint AS amount, NULL::timestamptz AS booked_at,
      '00000000-0000-7000-8000-000000000001'::uuid AS connection_id),
     booked AS (${bookSql('charge_paid').text}) SELECT FROM booked`,
    { charges: `transfer charge_paid of ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a returned withdrawal was marked approved',
    `UPDATE withdrawals SET status = 'approved', approved_at = now(), rejected_at = NULL,
       rejection_reason = NULL
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.returned}'`,
    { outgoing: `withdrawal ${ID.returned}` },
  ],
  [
    'a sent withdrawal was marked rejected',
    `UPDATE withdrawals SET status = 'rejected', approved_at = NULL, rejected_at = now(),
       rejection_reason = '-'
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.sent}'`,
    { outgoing: `withdrawal ${ID.sent}` },
  ],
  [
    'a returned refund was marked completed',
    `UPDATE refunds SET status = 'completed', completed_at = now(), rejected_at = NULL,
       rejection_reason = NULL
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.refundReturned}'`,
    { outgoing: `refund ${ID.refundReturned}`, counted: `charge ${ID.paid}` },
  ],
  ...(
    [
      ['charge_paid', ID.paid],
      ['withdrawal_sent', ID.sent],
      ['refund_sent', ID.refundSent],
    ] as const
  ).map(
    ([kind, id]): Corruption => [
      `${kind} names another connection`,
      `UPDATE ledger_transfers SET connection_id = '${UNKNOWN_IDS[0]}' WHERE ${transferFilter(id, kind)}`,
      { connection: `transfer ${kind} of ${id}` },
    ],
  ),
  [
    'a charge counts more as refunded than was sent',
    `UPDATE charges SET refunded_amount = 201 WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    { counted: `charge ${ID.paid}` },
  ],
  [
    'a charge does not count a pending refund',
    `UPDATE charges SET refund_held_amount = 0
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    { counted: `charge ${ID.paid}` },
  ],
  [
    'a charge counts a held amount as refunded',
    `UPDATE charges SET refunded_amount = 300, refund_held_amount = 0
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    { counted: `charge ${ID.paid}` },
  ],
  [
    'a refund was moved to another charge',
    `UPDATE refunds SET charge_id = '${ID.paidLater}'
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.refundSent}'`,
    { counted: `charge ${ID.paid}` },
  ],
  [
    'a withdrawal counts a return that did not come',
    `UPDATE withdrawals SET returned_amount = 100
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.sent}'`,
    { returns: `withdrawal ${ID.sent}` },
  ],
  [
    'a return that does not exist was credited with a complete transfer',
    `WITH source AS (SELECT '${ACCOUNT}'::uuid AS account_id, 'test' AS mode,
       '${UNKNOWN_IDS[0]}'::uuid AS id, 777::bigint AS amount, NULL::timestamptz AS booked_at,
       '${SIMULATOR_CONNECTION_ID}'::uuid AS connection_id),
     booked AS (${bookSql('payout_returned').text}) SELECT FROM booked`,
    { returns: `transfer payout_returned of ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a return of a payment was not booked',
    `${insertPaymentReturn(100)}; UPDATE charges SET returned_amount = 100
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    { paymentReturns: `payment return ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a return of a payment was booked that does not exist',
    `WITH source AS (SELECT '${ACCOUNT}'::uuid AS account_id, 'test' AS mode,
       '${UNKNOWN_IDS[0]}'::uuid AS id, 7::bigint AS amount, NULL::timestamptz AS booked_at,
       '${SIMULATOR_CONNECTION_ID}'::uuid AS connection_id),
     booked AS (${bookSql('payment_returned').text}) SELECT FROM booked`,
    { paymentReturns: `transfer payment_returned of ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a charge counts a return that a lost dispute had taken before',
    `${insertPaymentReturn(100, 100)}; UPDATE charges SET returned_amount = 100
     WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}'`,
    { paymentReturns: `charge ${ID.paid}` },
  ],
  [
    'an account owes something that its ledger does not say',
    `UPDATE ledger_accounts SET owed = 5
     WHERE account_id = '${ACCOUNT}' AND mode = 'live' AND ledger = 'available'`,
    { owed: 'live: owed balance' },
  ],
  [
    'a dispute was never held',
    `INSERT INTO disputes (account_id, id, mode, connection_id, bank_id, charge_id, amount, status)
     VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', '-',
       '${ID.paid}', 100, 'open')`,
    { disputes: `dispute ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a lost dispute did not leave the account',
    `INSERT INTO disputes (account_id, id, mode, connection_id, bank_id, charge_id, amount, lost_amount,
       status, closed_at)
     VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', '-',
       '${ID.paid}', 100, 60, 'lost', now());
     INSERT INTO ledger_accounts (account_id, mode, ledger)
       VALUES ('${ACCOUNT}', 'test', 'disputed'), ('${ACCOUNT}', 'test', 'owed');
     WITH source AS (SELECT '${ACCOUNT}'::uuid AS account_id, 'test' AS mode,
       '${UNKNOWN_IDS[0]}'::uuid AS id, 100::bigint AS amount, NULL::timestamptz AS booked_at),
     booked AS (${bookSql('dispute_held').text}) SELECT FROM booked`,
    { disputes: `dispute ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a fee was not booked',
    `INSERT INTO bank_fees (account_id, id, mode, connection_id, bank_id, amount, charged_at)
     VALUES ('${OPERATOR_ACCOUNT_ID}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', '-', 100,
       now())`,
    { fees: `fee ${UNKNOWN_IDS[0]}` },
  ],
  [
    'a write-off was not booked',
    `INSERT INTO write_offs (account_id, id, mode, connection_id, amount)
     VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', 100)`,
    { writeOffs: `write-off ${UNKNOWN_IDS[0]}` },
  ],
  [
    'an entry of two admins was not booked',
    `INSERT INTO differences (id, connection_id, kind, key, facts)
       VALUES ('${UNKNOWN_IDS[1]}', '${SIMULATOR_CONNECTION_ID}', 'day_missing_here', '-', '{}');
     INSERT INTO corrections (account_id, id, item_id, mode, connection_id, to_account_id, amount, reason,
       attachment, attachment_type, booked_at)
     VALUES ('${OPERATOR_ACCOUNT_ID}', '${UNKNOWN_IDS[0]}', '${UNKNOWN_IDS[1]}', 'test',
       '${SIMULATOR_CONNECTION_ID}', '${ACCOUNT}', 100, '-', '-', 'application/pdf', now())`,
    { corrections: `correction ${UNKNOWN_IDS[0]}` },
  ],
  [
    'money moved as by an entry of two admins that nobody made',
    `INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount, connection_id)
       VALUES ('${OPERATOR_ACCOUNT_ID}', 'corrected', '${UNKNOWN_IDS[0]}', 'test', 'external', 'own', 100,
         '${SIMULATOR_CONNECTION_ID}')`,
    {
      transfer: `transfer corrected of ${UNKNOWN_IDS[0]}`,
      corrections: `transfer corrected of ${UNKNOWN_IDS[0]}`,
    },
  ],
  [
    'a write-off was booked to another account than its own',
    `INSERT INTO write_offs (account_id, id, mode, connection_id, amount)
       VALUES ('${UNKNOWN_IDS[1]}', '${UNKNOWN_IDS[0]}', 'test', '${SIMULATOR_CONNECTION_ID}', 100);
     INSERT INTO ledger_transfers (account_id, kind, subject_id, mode, debit, credit, amount)
       VALUES ('${ACCOUNT}', 'owed_written_off', '${UNKNOWN_IDS[0]}', 'test', 'external', 'owed', 100)`,
    {
      transfer: `transfer owed_written_off of ${UNKNOWN_IDS[0]}`,
      writeOffs: `transfer owed_written_off of ${UNKNOWN_IDS[0]}`,
    },
  ],
  [
    'a payment was deleted',
    `DELETE FROM unmatched_payments WHERE id = '${ID.payment}'`,
    { unmatched: `transfer unmatched_received of ${ID.payment}` },
  ],
  [
    "a payment's amount was changed",
    `UPDATE unmatched_payments SET amount = 501 WHERE id = '${ID.payment}'`,
    { unmatched: `payment ${ID.payment}` },
  ],
  [
    'an unmatched payment pays a charge, too',
    `UPDATE charges SET end_to_end_id = 'E-stray' WHERE account_id = '${ACCOUNT}'
       AND id = '${ID.paid}'`,
    { unmatched: `payment ${ID.payment}` },
  ],
  [
    'a payment was resolved, but is still unmatched',
    `INSERT INTO unmatched_resolutions (account_id, payment_id, entry)
     VALUES ('${OPERATOR_ACCOUNT_ID}', '${ID.payment}', 'keep')`,
    { settlements: `settlement of ${ID.payment}` },
  ],
  [
    'a payment left `unmatched` for an account that did not get it',
    `INSERT INTO unmatched_resolutions (account_id, payment_id, entry, to_account_id)
       VALUES ('${OPERATOR_ACCOUNT_ID}', '${ID.payment}', 'credit', '${ACCOUNT}');
     ${moveUnmatched('unmatched_released', OPERATOR_ACCOUNT_ID)}`,
    { settlements: `settlement of ${ID.payment}` },
  ],
  [
    'a payment left `unmatched` without being resolved',
    moveUnmatched('unmatched_kept', OPERATOR_ACCOUNT_ID),
    { settlements: `transfer unmatched_kept of ${ID.payment}` },
  ],
  [
    'a payment is claimed for nothing, and so never booked',
    `INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
     VALUES ('E-lost', '${SIMULATOR_CONNECTION_ID}', '${ACCOUNT}', '${UNKNOWN_IDS[0]}')`,
    { claims: 'payment E-lost' },
  ],
  [
    'a payment is claimed for a charge that another one has paid',
    `UPDATE charges SET end_to_end_id = 'E-paid' WHERE account_id = '${ACCOUNT}' AND id = '${ID.paid}';
     INSERT INTO booked_payments (end_to_end_id, connection_id, account_id, subject_id)
     VALUES ('E-lost', '${SIMULATOR_CONNECTION_ID}', '${ACCOUNT}', '${ID.paid}')`,
    { claims: 'payment E-lost' },
  ],
  [
    'a settled withdrawal was never held',
    `INSERT INTO withdrawals
       (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key, approved_at)
     VALUES ('${ACCOUNT}', '${UNKNOWN_IDS[0]}', 'test', 'approved', 5000, 'email', '-', '-', now())`,
    { outgoing: `withdrawal ${UNKNOWN_IDS[0]}` },
  ],
]

/** What a check, which has verified the entries before, finds first. */
const CHECK_FINDS: Record<string, string[]> = {
  'a version was changed': [`${INVARIANTS.running}: account ${ACCOUNT}, test: outbound entry 11`],
}

describe('each corruption of the ledger is found and its row is reported', () => {
  test.for(pickInTurn(CORRUPTIONS))('%s', async ([title, sql, found]) => {
    const url = await copyHistory()
    await corrupt(url, sql)
    const ofOperator = ['unmatched', 'settlements', 'fees', 'corrections']
    const account = ofOperator.some(name => name in found) ? OPERATOR_ACCOUNT_ID : ACCOUNT
    const expected = Object.entries(found).map(([name, place]) => [
      INVARIANTS[name as InvariantName],
      `account ${account}, ${place.startsWith('live: ') ? place : `test: ${place}`}`,
    ])
    const violations = Object.fromEntries(expected)
    expect(await findViolations(url, undefined, account, OTHER_ACCOUNT)).toEqual([
      violations,
      violations,
      {},
    ])
    const wrong = await checkAgain(url, account)
    const known = Object.entries(violations).map(([name, place]) => `${name}: ${place}`)
    expect([...known, ...(CHECK_FINDS[title] ?? [])]).toContain(wrong)
    expect(await checkAgain(url, OTHER_ACCOUNT)).toBeNull()
  })

  test('the corruptions violate every invariant at least once', () => {
    const tested = new Set(CORRUPTIONS.flatMap(([, , found]) => Object.keys(found)))
    expect(tested).toEqual(new Set(Object.keys(INVARIANTS)))
  })
})

// The plan depends on the statistics of the tables, which other tests change.
describe('in a database of its own', () => {
  inOwnDatabase()

  test('the hourly check of the operator looks a payment up among the charges, and does not read them all', async () => {
    const unmatched = ROW_INVARIANTS.find(({ invariant }) => invariant === INVARIANTS.unmatched)
    const scope = accountScope(OPERATOR_ACCOUNT_ID)
    const plan = await db().$transaction(async tx => {
      await limitPlans(tx)
      // With few rows PostgreSQL prefers to read all of them.
      await tx.$executeRaw`SET LOCAL enable_seqscan = off`
      const sql = unmatched ? violationSql(unmatched, scope) : Prisma.empty
      return tx.$queryRaw<{ 'QUERY PLAN': string }[]>`EXPLAIN ${sql}`
    })
    const lines = plan.map(row => row['QUERY PLAN'].trim())
    const scan = lines.findIndex(line => line.includes('on charges'))
    expect(lines[scan]).toContain('charges_end_to_end_id_key')
    expect(lines[scan + 1]).toBe('Index Cond: (end_to_end_id = t.end_to_end_id)')
  })

  test('of several wrong rows the first is reported', async () => {
    const url = await copyHistory()
    await corrupt(
      url,
      `UPDATE ledger_entries SET balance_after = balance_after + 1 WHERE account_id <> '${OPERATOR_ACCOUNT_ID}';
       UPDATE ledger_accounts SET version = version + 1 WHERE account_id <> '${OPERATOR_ACCOUNT_ID}';
       DELETE FROM withdrawals`,
    )
    const [violations = {}] = await findViolations(url, undefined)
    expect(violations[INVARIANTS.running]).toBe(`account ${ACCOUNT}, test: available entry 1`)
    expect(violations[INVARIANTS.balance]).toBe(`account ${ACCOUNT}, live: available balance`)
    expect(violations[INVARIANTS.held]).toBe(`account ${ACCOUNT}, test: outbound balance`)
    expect(violations[INVARIANTS.outgoing]).toBe(
      `account ${ACCOUNT}, test: transfer withdrawal_held of ${ID.held}`,
    )
  })

  test('verification reads one snapshot: concurrent movements cause no findings', async () => {
    const merchant = await makeMerchant()
    let isMoving = true
    const payments = (async () => {
      for (let index = 0; index < 40; index++) await fundMerchant(merchant, 500 + index)
      isMoving = false
    })()
    let runs = 0
    while (isMoving || runs === 0) {
      const { findings } = await verifyLedger(db(), merchant.id)
      expect(findings.filter(finding => finding.violation)).toEqual([])
      runs += 1
    }
    await payments
    expect(runs).toBeGreaterThan(1)
  })
})
