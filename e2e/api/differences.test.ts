import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId, OPERATOR_ACCOUNT_ID } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type DifferenceKind, noteItem } from '#lib/differences/differences.ts'
import type { DifferenceDetail, DifferenceLine } from '#lib/operator/differences/schema.ts'
import { readBalances } from '#lib/testing/balances.ts'
import { call } from '#lib/testing/call.ts'
import { keepOfCharge, keepStray } from '#lib/testing/differences.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  runAsOwner,
  startApi,
} from '#lib/testing/fixtures.ts'
import { personHeaders, signInAdmin } from '#lib/testing/member.ts'

// The sum of what is open is one of the whole database.
inOwnDatabase()

let api: Api
let merchant: Account
let headers: Record<string, string>
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('=Padaria')
  headers = personHeaders(await signInAdmin())
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await expectBalancedLedger(OPERATOR_ACCOUNT_ID)
  await api.close()
})

const get = (path: string) => call(api.url, 'GET', `/admin/differences${path}`, { headers })
const read = async (id: string): Promise<DifferenceDetail> => (await get(`/${id}`)).body.data
const settle = (id: string, body: object) =>
  call(api.url, 'POST', `/admin/differences/${id}/resolve`, {
    headers: { ...headers, 'content-type': 'application/json' },
    body: { reason: 'Agreed with the payer', ...body },
  })

/** Two payments of one charge: the first pays it, the second is unmatched. */
async function payTwice(amount: number) {
  const charge = await openCharge(merchant, amount)
  const named = { accountId: merchant.id, chargeId: charge.id }
  const { itemId } = await keepOfCharge(named, amount + 1)
  return { itemId, chargeId: charge.id }
}

test('an item is read with what the bank and what Troco says, and settled by who is signed in', async () => {
  const { itemId, chargeId } = await payTwice(4_200)
  const item = await read(itemId)
  expect(item).toMatchObject({
    kind: 'payment_amount',
    amount: 4_201,
    is_held: true,
    mode: 'test',
    resolved_at: null,
    entries: ['give_back', 'credit', 'match', 'keep'],
    suggestion: { entry: 'give_back', why: 'other_amount', account_id: merchant.id },
    evidence: {
      bank: { amount: 4_201, end_to_end_id: item.key },
      noted: { expected_amount: 4_200, transaction_id: chargeId },
      account: { id: merchant.id, name: merchant.name },
      charge: { id: chargeId, status: 'pending', amount: 4_200 },
    },
  })
  expect(item.evidence.charge?.payer).toContain('*')
  const before = (await readBalances(merchant.id, 'test')).available
  const response = await settle(itemId, { entry: 'credit', account_id: merchant.id })
  expect([response.status, response.body.data]).toMatchObject([
    200,
    {
      resolution: 'credit',
      reason: 'Agreed with the payer',
      entries: [],
      is_held: false,
      resolved_by: expect.stringContaining('alone-'),
    },
  ])
  expect((await readBalances(merchant.id, 'test')).available).toBe(before + 4_201)
  const again = await settle(itemId, { entry: 'keep' })
  expect([again.status, again.headers.get('x-error-code')]).toEqual([409, 'already_final'])
})

test('unpaid charges of the amount around the time are offered, and one of them is matched', async () => {
  const charge = await openCharge(merchant, 7_777)
  await openCharge(merchant, 7_778)
  const { itemId } = await keepStray(7_777)
  const { evidence, suggestion } = await read(itemId)
  expect(evidence.candidates.map(({ id }) => id)).toEqual([charge.id])
  expect(suggestion).toMatchObject({ entry: 'match', transaction_id: charge.id })
  const response = await settle(itemId, { entry: 'match', transaction_id: charge.id })
  expect(response.status, response.text).toBe(200)
  expect((await read(itemId)).resolution).toBe('match')
})

test('while the bank gives money back, nothing else is offered or accepted', async () => {
  const { itemId } = await keepStray(3_000)
  expect((await settle(itemId, { entry: 'give_back' })).status).toBe(200)
  expect(await read(itemId)).toMatchObject({
    is_giving_back: true,
    entries: [],
    resolved_at: null,
    evidence: { returns: [{ status: 'pending' }] },
  })
  const refused = await settle(itemId, { entry: 'keep' })
  expect([refused.status, refused.headers.get('x-error-code')]).toEqual([409, 'under_way'])
})

test('a payment older than 90 days is not offered to be given back, and the bank is not asked to', async () => {
  const age = 90 * 86_400_000
  const suspendAt = (ms: number) => keepStray(2_500, undefined, { paidAt: new Date(ms) })
  const { itemId } = await suspendAt(Date.now() - age - 1_000)
  expect(await read(itemId)).toMatchObject({
    entries: ['credit', 'match', 'keep'],
    suggestion: { entry: 'keep', why: 'too_late' },
  })
  const refused = await settle(itemId, { entry: 'give_back' })
  expect([refused.status, refused.headers.get('x-error-code')]).toEqual([
    409,
    'refund_window_closed',
  ])
  expect(refused.body.error).toContain('90 days')
  expect(await db().unmatchedReturn.count({ where: { itemId } })).toBe(0)
  const young = await suspendAt(Date.now() - age + 60_000)
  expect((await read(young.itemId)).entries).toContain('give_back')
  expect((await settle(young.itemId, { entry: 'give_back' })).status).toBe(200)
})

test.each([
  [{ entry: 'credit' }, 'account_id'],
  [{ entry: 'match' }, 'transaction_id'],
  [{ entry: 'acknowledge' }, 'entry'],
  [{ entry: 'sell' }, 'entry'],
  [{ entry: 'keep', reason: 'x' }, 'reason'],
  [{ entry: 'keep', reason: 'two\nlines' }, 'reason'],
  [{ entry: 'credit', account_id: 'x' }, 'account_id'],
  [{ entry: 'credit', account_id: newId() }, 'account_id'],
  [{}, 'entry'],
])('%j is refused, and the error names %s', async (body, field) => {
  const { itemId } = await keepStray(1_000)
  const { status, body: response } = await settle(itemId, body)
  expect(status).toBe(422)
  expect(Object.keys(response.fields ?? response.errors ?? {})).toContain(field)
  expect((await read(itemId)).resolved_at).toBeNull()
})

test('unknown items respond 404', async () => {
  for (const id of [newId(), 'x']) {
    expect((await get(`/${id}`)).status).toBe(404)
    expect((await settle(id, { entry: 'keep' })).status).toBe(404)
  }
})

test('a list is filtered by state, kind, connection and age, in pages, with sum and age of what is open', async () => {
  const key = newId()
  const item = { connectionId: SIMULATOR_CONNECTION_ID, kind: 'removal_unconfirmed', key } as const
  await noteItem(db(), { ...item, facts: { amount: 900 } })
  const old = new Date(Date.now() - 8 * 86_400_000)
  await db().difference.updateMany({ where: { key }, data: { createdAt: old } })
  const list = async (query: string): Promise<DifferenceLine[]> =>
    (await get(`?${query}`)).body.data
  const kinds = async (query: string) => (await list(query)).map(({ kind }) => kind)
  expect(await kinds('kind=removal_unconfirmed')).toEqual(['removal_unconfirmed'])
  expect(await kinds('age=7')).toEqual(['removal_unconfirmed'])
  expect(await kinds('age=30')).toEqual([])
  expect(await kinds(`connection=${newId()}`)).toEqual([])
  const resolved = await list('state=resolved')
  expect(new Set(resolved.map(({ resolution }) => resolution))).toEqual(
    new Set(['credit', 'match']),
  )
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await get(`?state=open&limit=3${cursor && `&cursor=${cursor}`}`)
    ids.push(...body.data.map((line: DifferenceLine) => line.id))
    cursor = body.next_cursor
  }
  const { body } = await get('?state=open&limit=100')
  expect(ids).toEqual(body.data.map(({ id }: DifferenceLine) => id))
  const held = body.data.filter((line: DifferenceLine) => line.is_held)
  const sum = held.reduce((total: number, line: DifferenceLine) => total + (line.amount ?? 0), 0)
  expect(body.open).toEqual({
    count: ids.length,
    amount: { test: sum, live: 0 },
    oldest_at: expect.stringContaining(old.toISOString().slice(0, 19)),
  })
  for (const query of ['state=x', 'age=2', 'kind=A', 'connection=1', 'limit=0', 'cursor=x'])
    expect((await get(`?${query}`)).status, query).toBe(422)
})

test('the CSV has every matching row, one line each, is recorded, and no cell is a formula', async () => {
  expect((await get('/export?locale=pt-BR&state=open')).text).toContain(';Banco simulado;')
  await db().connection.update({ where: { id: SIMULATOR_CONNECTION_ID }, data: { name: '=1+1' } })
  const { text, headers: sent } = await get('/export?locale=en&state=open')
  const lines = text.split('\r\n')
  const count = (await get('?state=open&limit=100')).body.data.length
  expect(sent.get('content-disposition')).toMatch(/filename="differences-\d{4}-\d\d-\d\d\.csv"/)
  expect(lines).toHaveLength(count + 2)
  expect(lines.at(-1)).toBe(`\u001e${count}`)
  expect(lines[1]).toContain("'=1+1")
  expect(await db().auditRecord.count({ where: { action: 'difference.exported' } })).toBe(2)
})

test('the record of an export names each filter of the file', async () => {
  const filters = { kind: 'payment_amount', connection: newId(), age: '7' }
  const { status } = await get(
    `/export?${new URLSearchParams({ locale: 'en', state: 'resolved', ...filters })}`,
  )
  expect(status).toBe(200)
  const record = await db().auditRecord.findFirst({
    where: { action: 'difference.exported' },
    orderBy: { createdAt: 'desc' },
  })
  expect(record?.after).toEqual({ status: 'resolved', ...filters })
})

describe('an item of a reconciled day', () => {
  const day = '2026-11-20'
  const at = '2026-11-20T15:00:00.000Z'
  const note = async (kind: string, what: string, bank: object | null, ours: object | null) => {
    const facts = { what, day, bank, ours }
    const item = {
      connectionId: SIMULATOR_CONNECTION_ID,
      kind: kind as DifferenceKind,
      key: newId(),
    }
    await noteItem(db(), { ...item, facts: facts as never })
    const { id } = await db().difference.findFirstOrThrow({ where: { key: item.key } })
    return read(id)
  }

  test('has both sides as facts of their own, the amount of the bank, and the rows that they name', async () => {
    const { id: chargeId } = await openCharge(merchant, 6_100)
    const bank = { amount: 6_000, at, kind: 'payment', end_to_end_id: 'E1' }
    const ours = {
      amount: 6_100,
      at,
      state: 'booked',
      transaction_id: chargeId,
      account_id: merchant.id,
      end_to_end_id: 'E1',
    }
    const item = await note('day_different', 'payment', bank, ours)
    expect(item).toMatchObject({
      amount: 6_000,
      evidence: {
        bank: { what: 'payment', day, ...bank },
        noted: ours,
        charge: { id: chargeId },
        account: { id: merchant.id },
      },
    })
    const lines: DifferenceLine[] = (await get('?kind=day_different')).body.data
    expect(lines.find(({ id }) => id === item.id)?.amount).toBe(6_000)
  })

  test('that one side does not have has nothing of it, and the amount of the other', async () => {
    const side = { amount: -300, at }
    expect(await note('day_missing_here', 'payout', side, null)).toMatchObject({
      ...{ amount: -300, evidence: { bank: side, noted: {} } },
    })
    const { amount, evidence } = await note('day_missing_there', 'refund', null, side)
    expect(amount).toBe(-300)
    expect([evidence.bank, evidence.noted]).toEqual([{ what: 'refund', day }, side])
  })

  test('about balances has what they differ by', async () => {
    const statement = { opening: 100, closing: 90, difference: -10, missing: 0, unread: 1 }
    expect(await note('day_balance', 'statement', statement, null)).toMatchObject({
      amount: -10,
      evidence: { bank: statement },
    })
    const opening = await note('day_balance', 'opening', { opening: 100 }, { closing: 130, day })
    expect(opening).toMatchObject({ amount: -30, evidence: { noted: { closing: 130, day } } })
  })
})

test('an item of a kind that this version does not know can be read and acknowledged', async () => {
  await runAsOwner('ALTER TABLE differences DROP CONSTRAINT differences_kind_known')
  const [id, key] = [newId(), newId()]
  const place = { id, connectionId: SIMULATOR_CONNECTION_ID, key }
  const facts = { what: 'a movement', bank: { amount: 5 }, ours: [1], amount: 'unknown' }
  await db().difference.create({ data: { ...place, kind: 'of_later', facts } })
  expect(await read(id)).toMatchObject({
    kind: 'of_later',
    amount: null,
    entries: ['acknowledge'],
    is_held: false,
    evidence: { bank: { bank: '{"amount":5}' }, noted: { ours: '[1]' } },
  })
  expect((await settle(id, { entry: 'acknowledge' })).status).toBe(200)
})
