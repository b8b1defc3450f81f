import pg from 'pg'
import type { Account } from '#lib/accounts/schema.ts'
import { buildSimulatedCode } from '#lib/banks/simulator.ts'
import { createCharge } from '#lib/charges/create.ts'
import type { ChargeRequest } from '#lib/charges/schema.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { AMOUNT_MAX } from '#lib/core/money.ts'
import { openAccountWithOwner } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import type { Options } from './options.ts'

export interface Merchant {
  id: string
  name: string
  token: string
}

export interface World {
  merchant: Merchant
  chargeIds: string[]
  balance: number
  /** The only merchant that withdraws, so that all withdrawals update the same balance. */
  hot: Merchant
  small: Merchant
  large: Merchant
}

export const CHARGE: ChargeRequest = {
  amount: 1_500,
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
  metadata: { order: '10432', channel: 'shop' },
}

const READ_CHARGE_COUNT = 512
/** Number of withdrawals before the load, so that PostgreSQL plans as for a table in use. */
export const EXISTING_WITHDRAWAL_COUNT = 1_000
const EXISTING_WITHDRAWAL = {
  amount: 1_000,
  pixKeyType: 'email',
  pixKey: 'ana@example.com',
  dictKey: 'ana@example.com',
} as const
const BALANCE = 123_456
const ROWS_PER_STATEMENT = 100_000
const ACTOR = { type: 'system' } as const

/** Creates merchants and charges. Balances come from paid charges, as in production. */
export async function makeWorld(options: Options, databaseUrl: string): Promise<World> {
  const merchant = await makeMerchant('Padaria do Bairro')
  const hot = await makeMerchant('Loja Movimentada')
  const small = await makeMerchant('Cem Mil Vendas')
  const large = await makeMerchant('Um Milhão de Vendas')
  await fundMerchant(merchant, BALANCE)
  await fundMerchant(hot, AMOUNT_MAX)
  const chargeIds: string[] = []
  for (let made = 0; made < READ_CHARGE_COUNT; made++) {
    chargeIds.push((await createCharge(merchant, 'test', CHARGE, '127.0.0.1')).id)
  }
  const { only, smallList, largeList } = options
  for (let sent = 0; sent < EXISTING_WITHDRAWAL_COUNT; sent++) {
    await createWithdrawal(hot.id, 'test', EXISTING_WITHDRAWAL)
  }
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  try {
    await pool.query(INSERT_NEIGHBORS)
    if (only.includes('small')) await insertPastCharges(pool, small, smallList)
    if (only.includes('large')) await insertPastCharges(pool, large, largeList)
    await pool.query('VACUUM ANALYZE')
  } finally {
    await pool.end()
  }
  return { merchant, chargeIds, balance: BALANCE, hot, small, large }
}

export async function makeMerchant(name: string): Promise<Account & Merchant> {
  const ownerEmail = `${name.replace(/\W/g, '').toLowerCase()}@troco.example`
  const account = await openAccountWithOwner(name, ownerEmail)
  const tokenOptions = { accountId: account.id, mode: 'test' as const, name: 'bench' }
  const { token } = await issueToken({ ...tokenOptions, permissions: [...PERMISSIONS] }, ACTOR)
  return { ...account, token }
}

async function fundMerchant(account: Account, amount: number): Promise<void> {
  const { id } = await createCharge(account, 'test', { ...CHARGE, amount }, null)
  await simulateCharge(account.id, id, 'paid')
}

/**
 * Inserts charges of the last 20 days: a fifth pending, the others expired or failed. Paid charges
 * would need ledger entries.
 */
async function insertPastCharges(pool: pg.Pool, account: Merchant, total: number): Promise<void> {
  const placeholderTxid = 'f'.repeat(32)
  const code = {
    txid: placeholderTxid,
    amount: 1_500,
    merchantName: account.name,
    merchantCity: 'BRASILIA',
  }
  const [before = '', after = ''] = buildSimulatedCode(code).split(placeholderTxid)
  process.stderr.write(`Writing ${total.toLocaleString('en')} charges\n`)
  const inserts = Array.from({ length: Math.ceil(total / ROWS_PER_STATEMENT) }, (_, index) => {
    const from = index * ROWS_PER_STATEMENT + 1
    const to = Math.min(total, from + ROWS_PER_STATEMENT - 1)
    return pool.query(INSERT_CHARGES, [account.id, from, to, total, before, after])
  })
  await Promise.all(inserts)
}

/** Inserts a thousand other merchants, each with a token and empty ledger accounts. */
const INSERT_NEIGHBORS = `
  WITH made AS (
    INSERT INTO accounts (id, name)
    SELECT gen_random_uuid(), 'Loja ' || n FROM generate_series(1, 1000) AS n RETURNING id
  ), theirs AS (
    INSERT INTO tokens (account_id, id, mode, name, hash, prefix, last_four)
    SELECT id, id, 'test', 'theirs', sha256(id::text::bytea), 'troco_test', '0000' FROM made)
  INSERT INTO ledger_accounts (account_id, mode, ledger)
  SELECT id, mode, ledger FROM made, unnest(ARRAY['test', 'live']) AS mode,
    unnest(ARRAY['available', 'outbound', 'external']) AS ledger`

/** The BR codes have the right length but a wrong checksum, because nobody pays the charges. */
const INSERT_CHARGES = `
  INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, br_code,
    client_name, client_email, client_doc, ip, metadata, expires_at, due_at, created_at, updated_at)
  SELECT $1::uuid, hex::uuid, 'test', status, 500 + n % 90000, hex, hex, $5 || hex || $6,
    'Ana Beatriz Rocha', 'ana' || n % 5000 || '@example.com', '52998224725', '203.0.113.7',
    json_build_object('order', n::text, 'channel', 'shop'), at + interval '30 days',
    CASE WHEN status = 'pending' THEN at + interval '30 days' END, at, at
  FROM (
    SELECT n, at, (ARRAY['pending', 'expired', 'expired', 'expired', 'failed'])[1 + n % 5] AS status,
      lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' ||
        lpad(to_hex(n % 4096), 3, '0') || '8' || substr(md5($1 || n), 1, 15) AS hex
    FROM (
      SELECT n, now() - interval '1 hour' - ($4::int - n) * interval '20 days' / $4::int AS at
      FROM generate_series($2::int, $3::int) AS n) numbered) made`
