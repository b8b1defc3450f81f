import { Client, type DatabaseError } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { connect, type Database, Prisma } from '#lib/db/client.ts'
import { bookSql } from '#lib/ledger/book.ts'
import { verifyLedger } from '#lib/ledger/check.ts'
import { makeDatabase } from '#lib/testing/fixtures.ts'
import fc from '#lib/testing/property.ts'

/** Number of random histories; `npm run torture` runs 1,000. */
const RUN_COUNT = Number(process.env.MODEL_RUNS || 30)
/** Number of books. A book is one account in one mode; the two accounts have both modes. */
const BOOK_COUNT = 4
/** Few subjects, so that movements often repeat a subject. */
const SUBJECT_COUNT = 12

type Ledger = 'available' | 'outbound' | 'external'
type Opening = 'charge_paid' | 'withdrawal_held' | 'refund_held'
type Closing = 'withdrawal_sent' | 'withdrawal_returned' | 'refund_sent' | 'refund_returned'

/** Other movements are tested with the operations that book them. */
type Movement = Opening | Closing

interface Command {
  movement: Movement
  /** A closing movement uses the amount of its subject instead. */
  rows: { subject: number; amount: number }[]
}

interface Entry {
  amount: number
  after: number
}

interface Row {
  subject: number
  book: number
  id: string
  amount: number
}

/** Expected sides, written out to detect an error in lib/ledger/book.ts. */
const SIDES: Record<Movement, [from: Ledger, to: Ledger]> = {
  charge_paid: ['external', 'available'],
  withdrawal_held: ['available', 'outbound'],
  withdrawal_sent: ['outbound', 'external'],
  withdrawal_returned: ['outbound', 'available'],
  refund_held: ['available', 'outbound'],
  refund_sent: ['outbound', 'external'],
  refund_returned: ['outbound', 'available'],
}

class Model {
  readonly ids = Array.from({ length: SUBJECT_COUNT * 3 }, () => newId()).sort()
  readonly balances = new Map<string, number>()
  readonly history = new Map<string, Entry[]>()
  readonly moved = new Set<string>()
  readonly amounts = new Map<string, number>()

  constructor() {
    for (let book = 0; book < BOOK_COUNT; book++) {
      for (const ledger of ['available', 'outbound', 'external']) {
        this.balances.set(`${book} ${ledger}`, 0)
        this.history.set(`${book} ${ledger}`, [])
      }
    }
  }

  /**
   * Returns the rows that an operation would move. A closing movement requires a subject that is held, or
   * was closed by the same movement.
   */
  rowsOf({ movement, rows }: Command): Row[] {
    const family = movement.split('_')[0] ?? ''
    const offset = ['charge', 'withdrawal', 'refund'].indexOf(family) * SUBJECT_COUNT
    const candidates = rows.map(({ subject, amount }) => {
      const id = this.ids[offset + subject] ?? ''
      const heldAmount = isClosing(movement) ? this.amounts.get(id) : amount
      return { subject, book: subject % BOOK_COUNT, id, amount: heldAmount ?? 0 }
    })
    if (!isClosing(movement)) return candidates
    return candidates.filter(({ id }) => {
      const ended = [`${family}_sent`, `${family}_returned`].filter(kind =>
        this.moved.has(`${kind} ${id}`),
      )
      return this.amounts.has(id) && (ended.length === 0 || ended.includes(movement))
    })
  }

  /** Applies all rows or none. Returns false if the ledger must refuse them. */
  apply(movement: Movement, rows: Row[]): boolean {
    const keys = rows.map(row => `${movement} ${row.id}`)
    if (new Set(keys).size < keys.length || keys.some(key => this.moved.has(key))) return false
    const [from, to] = SIDES[movement]
    if (from !== 'external') {
      for (let book = 0; book < BOOK_COUNT; book++) {
        const debited = rows.reduce((sum, row) => sum + (row.book === book ? row.amount : 0), 0)
        if (debited > this.balance(book, from)) return false
      }
    }
    for (const row of rows.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
      this.moved.add(`${movement} ${row.id}`)
      this.amounts.set(row.id, row.amount)
      this.post(row.book, from, -row.amount)
      this.post(row.book, to, row.amount)
    }
    return true
  }

  private balance(book: number, ledger: Ledger): number {
    return this.balances.get(`${book} ${ledger}`) ?? 0
  }

  private post(book: number, ledger: Ledger, amount: number): void {
    const after = this.balance(book, ledger) + amount
    this.balances.set(`${book} ${ledger}`, after)
    this.history.get(`${book} ${ledger}`)?.push({ amount, after })
  }
}

function isClosing(movement: Movement): movement is Closing {
  return /_(sent|returned)$/.test(movement)
}

const liveConnectionId = newId()

function connectionSql(): Prisma.Sql {
  return Prisma.sql`CASE mode WHEN 'live' THEN ${liveConnectionId} ELSE ${SIMULATOR_CONNECTION_ID} END::uuid`
}

function writeSubjectSql(movement: Movement): Prisma.Sql {
  switch (movement) {
    case 'charge_paid':
      return Prisma.sql`
        INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
          client_name, client_email, client_doc, expires_at, paid_at, connection_id)
        SELECT account_id, id, mode, 'paid', amount, id::text, id::text, '-', '-', '-', '-',
          now(), now(), ${connectionSql()} FROM source
        ON CONFLICT DO NOTHING`
    case 'withdrawal_held':
      return Prisma.sql`
        INSERT INTO withdrawals
          (account_id, id, mode, status, amount, pix_key_type, pix_key, dict_key,
          connection_id)
        SELECT account_id, id, mode, 'pending', amount, 'email', '-', '-', ${connectionSql()} FROM source
        ON CONFLICT DO NOTHING`
    case 'refund_held':
      return Prisma.sql`
        INSERT INTO refunds (account_id, id, charge_id, mode, status, amount, connection_id)
        SELECT s.account_id, s.id, c.id, s.mode, 'pending', s.amount, c.connection_id
        FROM source s JOIN charges c ON c.account_id = s.account_id AND c.mode = s.mode
          AND c.external_id = 'refunded'
        ON CONFLICT DO NOTHING`
    case 'withdrawal_sent':
      return Prisma.sql`
        UPDATE withdrawals w SET status = 'approved', approved_at = now()
        FROM source s WHERE w.account_id = s.account_id AND w.id = s.id`
    case 'refund_sent':
      return Prisma.sql`
        UPDATE refunds r SET status = 'completed', completed_at = now()
        FROM source s WHERE r.account_id = s.account_id AND r.id = s.id`
    case 'withdrawal_returned':
      return Prisma.sql`
        UPDATE withdrawals w SET status = 'rejected', rejected_at = now(), rejection_reason = '-'
        FROM source s WHERE w.account_id = s.account_id AND w.id = s.id`
    case 'refund_returned':
      return Prisma.sql`
        UPDATE refunds r SET status = 'rejected', rejected_at = now(), rejection_reason = '-'
        FROM source s WHERE r.account_id = s.account_id AND r.id = s.id`
  }
}

interface LedgerKey {
  account_id: string
  mode: string
  ledger: string
}

/** The real ledgers of one run, written without Prisma, which would take most of the time. */
class LedgerDatabase {
  readonly accounts = [newId(), newId()].sort()
  private readonly client: Client

  constructor(client: Client) {
    this.client = client
  }

  private async query<Found>(name: string, { text, values }: Prisma.Sql): Promise<Found[]> {
    const { rows } = await this.client.query({ name, text, values })
    return rows
  }

  /**
   * Creates the accounts, each with one open charge that has the account's id. All refunds of an
   * account reference that charge.
   */
  async createAccounts(): Promise<void> {
    await this.query(
      'open',
      Prisma.sql`
      WITH made AS (
        INSERT INTO accounts (id, name) SELECT id, 'Padaria' FROM unnest(${this.accounts}::uuid[]) AS id
        RETURNING id
      ), opened AS (
        INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
          client_name, client_email, client_doc, expires_at, connection_id)
        SELECT id, gen_random_uuid(), mode, 'pending', 500, 'refunded', id || mode, '-', '-', '-', '-',
          now(), ${connectionSql()}
        FROM made, unnest(ARRAY['test', 'live']) AS mode
      )
      SELECT troco_open_books(id) FROM made`,
    )
  }

  async apply(movement: Movement, rows: Row[]): Promise<boolean> {
    const accounts = rows.map(row => this.accounts[row.book >> 1])
    const modes = rows.map(row => (row.book % 2 ? 'live' : 'test'))
    const ids = rows.map(row => row.id)
    const amounts = rows.map(row => row.amount)
    const statement = Prisma.sql`
      WITH source AS (
        SELECT *, NULL::timestamptz AS booked_at, ${connectionSql()} AS connection_id FROM unnest(${accounts}::uuid[],
          ${modes}::text[], ${ids}::uuid[], ${amounts}::bigint[])
          AS given (account_id, mode, id, amount)
      ), written AS (${writeSubjectSql(movement)}), booked AS (${bookSql(movement)})
      SELECT FROM booked`
    try {
      await this.query(movement, statement)
      return true
    } catch (error) {
      expect((error as DatabaseError).constraint).toBeOneOf([
        'ledger_transfers_pkey',
        'ledger_entries_account_id_kind_subject_id_ledger_key',
        'ledger_accounts_available_not_negative',
        'ledger_accounts_outbound_not_negative',
      ])
      return false
    }
  }

  private keyOf(key: LedgerKey): string {
    const book = this.accounts.indexOf(key.account_id) * 2 + (key.mode === 'live' ? 1 : 0)
    return `${book} ${key.ledger}`
  }

  async balances(): Promise<Map<string, number>> {
    const rows = await this.query<LedgerKey & { balance: string }>(
      'balances',
      Prisma.sql`SELECT account_id, mode, ledger, balance FROM ledger_accounts
        WHERE account_id = ANY (${this.accounts}::uuid[])`,
    )
    return new Map(rows.map(row => [this.keyOf(row), Number(row.balance)]))
  }

  async history(): Promise<Map<string, Entry[]>> {
    const rows = await this.query<LedgerKey & { amount: string; after: string }>(
      'history',
      Prisma.sql`SELECT account_id, mode, ledger, amount, balance_after AS after
        FROM ledger_entries WHERE account_id = ANY (${this.accounts}::uuid[]) ORDER BY version`,
    )
    const histories = new Map<string, Entry[]>()
    for (const row of rows) {
      const entries = histories.get(this.keyOf(row)) ?? []
      entries.push({ amount: Number(row.amount), after: Number(row.after) })
      histories.set(this.keyOf(row), entries)
    }
    return histories
  }
}

const row = fc.record({
  subject: fc.nat(SUBJECT_COUNT - 1),
  amount: fc.integer({ min: 1_000, max: 9_000 }),
})
const rows = fc.array(row, { minLength: 1, maxLength: 4 })
const command: fc.Arbitrary<Command> = fc.record({
  movement: fc.oneof(
    { weight: 5, arbitrary: fc.constant('charge_paid' as const) },
    { weight: 3, arbitrary: fc.constantFrom('withdrawal_held' as const, 'refund_held' as const) },
    { weight: 4, arbitrary: fc.constantFrom(...(Object.keys(SIDES) as Movement[])) },
  ),
  rows,
})

let database: Database
let client: Client
beforeAll(async () => {
  const url = await makeDatabase()
  database = connect({ url })
  client = new Client({ connectionString: url })
  await client.connect()
  const text = `INSERT INTO connections (id, name, kind, environment, settings, is_assignable)
    VALUES ($1, 'bank', 'efi', 'production', '{}', true)`
  await client.query(text, [liveConnectionId])
})
afterAll(async () => {
  await client.end()
  await database.$disconnect()
})

test(`${RUN_COUNT} random histories of movements leave the same balances as a plain model`, async () => {
  const counts = { moved: 0, refused: 0 }
  async function checkHistory(commands: Command[]): Promise<void> {
    const model = new Model()
    const ledgers = new LedgerDatabase(client)
    await ledgers.createAccounts()
    for (const step of commands) {
      const planned = model.rowsOf(step)
      const shouldMove = model.apply(step.movement, planned)
      expect(await ledgers.apply(step.movement, planned)).toBe(shouldMove)
      expect(await ledgers.balances()).toEqual(model.balances)
      counts[shouldMove ? 'moved' : 'refused'] += planned.length > 0 ? 1 : 0
    }
    const written = [...model.history].filter(([, entries]) => entries.length > 0)
    expect(await ledgers.history()).toEqual(new Map(written))
  }
  const commands = fc.array(command, { minLength: 1, maxLength: 12, size: 'max' })
  await fc.assert(fc.asyncProperty(commands, checkHistory), { numRuns: RUN_COUNT })

  // Both results must occur often enough, otherwise the test proves nothing.
  expect(counts.moved).toBeGreaterThan(RUN_COUNT)
  expect(counts.refused).toBeGreaterThan(RUN_COUNT / 2)
  const { findings, transfers } = await verifyLedger(database)
  // These refunds reference an unpaid charge, which does not count them.
  const checked = findings.filter(({ invariant }) => !invariant.startsWith('every charge stores'))
  expect(checked).toHaveLength(findings.length - 1)
  expect(checked.filter(finding => finding.violation)).toEqual([])
  expect(transfers).toBeGreaterThan(RUN_COUNT)
}, 180_000)
