import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { superuserUrlOf } from '#lib/testing/database.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { Random } from '#lib/testing/random.ts'
import { chooseSeed } from '#lib/testing/seed.ts'

interface Entry {
  version: number
  kind: string
  amount: number
  balance_after: number
  created_at: string
}

let api: Api
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

function callerOf(token: string) {
  const get = (path: string) => call(api.url, 'GET', path, { token })
  const post = async (path: string, body: object) =>
    (await call(api.url, 'POST', path, { token, body })).body
  /** Reads all pages, with what `between` does after each. */
  async function walk(query = '', between = async () => {}) {
    const entries: Entry[] = []
    const pages: Record<string, unknown>[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { status, body } = await get(
        `/statement?${query}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
      )
      expect(status).toBe(200)
      const { data, next_cursor, ...period } = body
      entries.push(...data)
      pages.push(period)
      cursor = next_cursor
      await between()
    }
    return { entries, pages, period: pages[0] ?? {} }
  }
  /** Reads the rows of the file below its names. */
  async function readCsv(query = ''): Promise<string[][]> {
    const { status, text } = await get(`/statement.csv?${query}`)
    expect(status).toBe(200)
    const [names, ...rows] = text.split('\r\n').map(line => line.split(','))
    expect(names).toEqual([
      'version',
      'kind',
      'amount',
      'balance_after',
      'created_at',
      'subject_id',
      'transaction_id',
      'withdrawal_id',
      'external_id',
      'client_name',
      'pix_key_type',
      'pix_key',
    ])
    expect(rows.pop()).toEqual([''])
    return rows
  }
  return { get, post, walk, readCsv }
}

const toCells = (entry: Entry) => Object.values(entry).map(value => String(value ?? ''))

async function makeCaller(): Promise<ReturnType<typeof callerOf> & { merchant: Account }> {
  const merchant = await makeMerchant()
  return { ...callerOf(await makeToken(merchant.id)), merchant }
}

/** Pays, refunds, withdraws and decides at random; refusals change nothing. */
async function act({ post }: ReturnType<typeof callerOf>, random: Random, count: number) {
  const paid: string[] = []
  const held: string[] = []
  for (let nth = 0; nth < count; nth++) {
    const action = random.pick(['pay', 'pay', 'refund', 'withdraw', 'decide'] as const)
    const amount = random.between(1_000, 5_000)
    if (action === 'pay') {
      const { data } = await post('/transactions', { ...CHARGE, amount })
      await post(`/sandbox/transactions/${data.transaction_id}`, { outcome: 'paid' })
      paid.push(data.transaction_id)
    } else if (action === 'refund' && paid.length > 0) {
      await post(`/transactions/${random.pick(paid)}/refunds`, { amount: 100 })
    } else if (action === 'withdraw') {
      const { data } = await post('/withdrawals', { ...WITHDRAWAL, amount })
      if (data) held.push(data.id)
    } else if (held.length > 0) {
      const outcome = random.pick(['approved', 'rejected'])
      await post(`/sandbox/withdrawals/${held.pop()}`, { outcome })
    }
  }
}

describe('GET /statement', () => {
  test('after random operations, entries add up to the balance of /account in any pages', async () => {
    const random = new Random(chooseSeed(), 19)
    for (let round = 0; round < 4; round++) {
      const caller = await makeCaller()
      await act(caller, random, 12)
      const { body: account } = await caller.get('/account')
      const { entries, period } = await caller.walk(`limit=${random.between(1, 7)}`)
      expect(period).toMatchObject({ opening_balance: 0, closing_balance: account.balance })
      let balance = 0
      for (const [nth, { version, amount, balance_after }] of entries.toReversed().entries()) {
        balance += amount
        expect([version, balance_after]).toEqual([nth + 1, balance])
      }
      expect(balance).toBe(account.balance)
      const oldestFirst = entries.toReversed()
      expect(await caller.readCsv()).toEqual(oldestFirst.map(toCells))
      for (const kind of ['transaction_paid', 'withdrawal_held'])
        expect(await caller.readCsv(`kind=${kind}`)).toEqual(
          oldestFirst.filter(entry => entry.kind === kind).map(toCells),
        )
      await expectBalancedLedger(caller.merchant.id)
    }
  })

  test('pages keep to the balance of the first one, even if money moves meanwhile', async () => {
    const caller = await makeCaller()
    for (let nth = 0; nth < 5; nth++) await fundMerchant(caller.merchant, 1_000)
    const { entries, pages } = await caller.walk('limit=2', () =>
      fundMerchant(caller.merchant, 70_000),
    )
    expect(entries.map(({ version }) => version)).toEqual([5, 4, 3, 2, 1])
    expect(pages.map(({ closing_balance }) => closing_balance)).toEqual([5_000, 5_000, 5_000])
  })

  test('a period is exact to the microsecond and names the balance before and after it', async () => {
    const caller = await makeCaller()
    for (const amount of [1_000, 2_000, 3_000]) await fundMerchant(caller.merchant, amount)
    const times = (await caller.walk()).entries.map(({ created_at }) => created_at).toReversed()
    const { entries, period } = await caller.walk(`from=${times[1]}&to=${times[2]}`)
    expect(entries).toMatchObject([{ version: 2, amount: 2_000, balance_after: 3_000 }])
    expect(period).toEqual({
      mode: 'test',
      time_zone: 'America/Sao_Paulo',
      from: times[1],
      to: times[2],
      opening_balance: 1_000,
      closing_balance: 3_000,
    })
    expect(await caller.readCsv(`from=${times[1]}&to=${times[2]}`)).toEqual(entries.map(toCells))
    const { period: days } = await caller.walk('from=2026-03-01&to=2026-04-01')
    expect(days).toMatchObject({
      from: '2026-03-01T03:00:00.000000Z',
      to: '2026-04-01T03:00:00.000000Z',
      opening_balance: 0,
      closing_balance: 0,
    })
    const { body } = await caller.get('/statement?from=1970-01-01&to=9999-12-31T23:59:59-12:00')
    expect(body).toMatchObject({ to: '9999-12-31T23:59:59.000000Z', closing_balance: 6_000 })
    expect((await caller.get('/statement?from=2026-12-01&to=2026-11-01')).body.data).toEqual([])
  })

  test('a kind selects entries; each names its charge, refund or withdrawal', async () => {
    const caller = await makeCaller()
    const { post, walk } = caller
    const { data: charge } = await post('/transactions', { ...CHARGE, external_id: 'order-1' })
    await post('/sandbox/transactions/order-1', { outcome: 'paid' })
    const { data: refund } = await post('/transactions/order-1/refunds', { amount: 100 })
    const withdrawal = await post('/withdrawals', {
      amount: 1_000,
      pix_key: 'hold@example.com',
      external_id: 'payout-1',
    })
    const none = { transaction_id: null, withdrawal_id: null, client_name: null, pix_key: null }
    const { client_name } = CHARGE
    const { transaction_id } = charge
    expect((await walk()).entries).toMatchObject([
      {
        ...none,
        kind: 'withdrawal_held',
        amount: -1_000,
        subject_id: withdrawal.data.id,
        withdrawal_id: withdrawal.data.id,
        external_id: 'payout-1',
        pix_key_type: 'email',
        pix_key: 'h***@example.com',
      },
      {
        ...none,
        kind: 'refund_held',
        amount: -100,
        subject_id: refund.id,
        transaction_id,
        client_name,
        external_id: 'order-1',
      },
      {
        ...none,
        kind: 'transaction_paid',
        amount: CHARGE.amount,
        subject_id: transaction_id,
        transaction_id,
        client_name,
      },
    ])
    const { entries, period } = await walk('kind=refund_held&limit=1')
    expect(entries).toMatchObject([{ version: 2 }])
    expect(period).toMatchObject({ opening_balance: 0, closing_balance: CHARGE.amount - 1_100 })
  })

  test('contains nothing of another account or mode', async () => {
    const [caller, other] = [await makeCaller(), await makeCaller()]
    await fundMerchant(other.merchant, 1_000)
    const { entries, period } = await caller.walk()
    expect([entries, period.closing_balance]).toEqual([[], 0])
  })

  test.each([
    ['limit', '0'],
    ['cursor', '1'],
    ['cursor', '9.9'],
    ['cursor', '1.2'],
    ['from', 'yesterday'],
    ['to', '2026-02-30'],
    ['kind', 'charge_paid'],
    ['until', '2026-03-01'],
  ])('422 for %s=%s', async (name, value) => {
    const { get } = await makeCaller()
    const { status, body } = await get(`/statement?${name}=${value}`)
    expect([status, Object.keys(body.errors)]).toEqual([422, [name]])
  })

  test.each(['kind=charge_paid', 'from=01.03.2026', 'format=csv', 'limit=1', 'cursor=1.1'])(
    'the file is refused with 422 for %s',
    async query => {
      const { get } = await makeCaller()
      const { status, text } = await get(`/statement.csv?${query}`)
      expect([status, Object.keys(JSON.parse(text).errors)]).toEqual([422, query.split('=', 1)])
    },
  )

  test('the file is recorded in the audit log for a member, not for a token', async () => {
    const { get, merchant } = await makeCaller()
    const path = '/statement.csv?from=2026-03-01&kind=transaction_paid'
    const headers = pageHeaders(await signIn(merchant, 'viewer'), merchant.id)
    for (const { status } of [await get(path), await call(api.url, 'GET', path, { headers })])
      expect(status).toBe(200)
    const where = { accountId: merchant.id, action: 'statement.exported' }
    expect(await db().auditRecord.findMany({ where })).toMatchObject([
      {
        actorType: 'user',
        after: { from: '2026-03-01', kind: 'transaction_paid', mode: 'test', format: 'csv' },
      },
    ])
  })
})

describe('GET /balance/history', () => {
  test('each day begins with the balance at the end of the one before', async () => {
    const caller = await makeCaller()
    for (const amount of [1_000, 2_000, 3_000]) await fundMerchant(caller.merchant, amount)
    await moveEntries(caller.merchant.id, [
      '2026-03-01T02:59:59.999999Z',
      '2026-03-01T03:00:00Z',
      '2026-03-04T02:59:59Z',
    ])
    const { status, body } = await caller.get('/balance/history?from=2026-02-28&to=2026-03-04')
    const day = (date: string, opening: number, credited: number) => ({
      date,
      opening_balance: opening,
      credited,
      debited: 0,
      closing_balance: opening + credited,
    })
    expect([status, body]).toEqual([
      200,
      {
        mode: 'test',
        time_zone: 'America/Sao_Paulo',
        data: [
          day('2026-03-03', 3_000, 3_000),
          day('2026-03-02', 3_000, 0),
          day('2026-03-01', 1_000, 2_000),
          day('2026-02-28', 0, 1_000),
        ],
      },
    ])
    const period = 'from=2026-03-01&to=2026-03-03'
    const { body: history } = await caller.get(`/balance/history?${period}`)
    const { period: statement } = await caller.walk(period)
    expect([history.data.at(-1).opening_balance, history.data[0].closing_balance]).toEqual([
      statement.opening_balance,
      statement.closing_balance,
    ])
  })

  test('without parameters it ends with today and the balance of /account', async () => {
    const caller = await makeCaller()
    await act(caller, new Random(chooseSeed(), 20), 10)
    const { body } = await caller.get('/balance/history')
    const { body: account } = await caller.get('/account')
    expect(body.data).toHaveLength(30)
    const [today] = body.data
    expect(today.closing_balance).toBe(account.balance)
    expect(today.opening_balance + today.credited - today.debited).toBe(today.closing_balance)
    const later = await caller.get('/balance/history?from=9999-01-01&to=9999-12-31')
    expect([later.status, later.body.data]).toEqual([200, []])
  })

  test('422 for more than 366 days and for what is no day', async () => {
    const { get } = await makeCaller()
    const year = await get('/balance/history?from=2025-01-01&to=2026-01-02')
    expect([year.status, year.body.data.length]).toEqual([200, 366])
    for (const [query, name] of [
      ['from=2024-12-31&to=2026-01-02', 'from'],
      ['from=2026-01-01T00:00:00Z', 'from'],
      ['to=1969-12-31', 'to'],
      ['limit=1', 'limit'],
    ]) {
      const { status, body } = await get(`/balance/history?${query}`)
      expect([query, status, Object.keys(body.errors)]).toEqual([query, 422, [name]])
    }
  })
})

/** Changes the times of the account's entries, as superuser: the database refuses it to other roles. */
async function moveEntries(accountId: string, times: string[]): Promise<void> {
  const client = new Client({ connectionString: superuserUrlOf() })
  await client.connect()
  await client.query('SET session_replication_role = replica')
  await client.query(
    `UPDATE ledger_entries e SET created_at = t.at
    FROM unnest($2::timestamptz[]) WITH ORDINALITY t(at, version)
    WHERE e.account_id = $1 AND e.mode = 'test' AND e.ledger = 'available' AND e.version = t.version`,
    [accountId, times],
  )
  await client.end()
}
