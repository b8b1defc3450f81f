import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { EfiAccount, newPayout, OPENING_BALANCE, PAYEE, signal } from '#e2e/banks/efi-account.ts'
import type { Fault } from '#e2e/psp/faults.ts'
import type { Statement } from '#lib/banks/gateway.ts'
import { withConnectionJournal } from '#lib/banks/record-call.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { dayOf } from '#lib/core/locale.ts'
import { db } from '#lib/db/client.ts'

const PATH = '/v2/gn/relatorios'
const DAY = dayOf(new Date(Date.now() - 86_400_000))
const NOON = new Date(`${DAY}T15:00:00Z`)

let account: EfiAccount
/** The report of the day as the bank sends it. */
let file: string
beforeAll(async () => {
  account = await EfiAccount.open()
  await account.bank.run('change', { clockOffsetMs: NOON.getTime() - Date.now() })
  await fillDay()
  await account.bank.run('change', { clockOffsetMs: 0 })
  await account.bank.run('pay', { key: account.bank.keys[0], amount: 77 })
  file = (await account.client.call('GET', `${PATH}/${await makeReport()}`)).text
})
afterAll(() => account.close())
afterEach(() => account.bank.run('clearFaults'))

const ids = { refund: removeHyphens(newId()), payment: '', contested: '' }
const [paid, failed] = [newPayout({ amount: 30_000 }), newPayout({ amount: 2_000 })]

/** Every kind of movement that the test bank knows. */
async function fillDay(): Promise<void> {
  const { bank, gateway } = account
  const receive = async (amount: number) =>
    (await bank.run('pay', { key: bank.keys[0], amount }))[0]?.e2eid ?? ''
  Object.assign(ids, { payment: await receive(10_000), contested: await receive(5_000) })
  await gateway.refundCharge({ id: ids.refund, endToEndId: ids.payment, amount: 400 }, signal())
  await account.send(paid)
  await account.settle()
  await bank.run('returnPayout', { idEnvio: paid.id, amount: 100 })
  await account.setPayee({ failure: { codigo: 'AC03', motivo: 'Conta inexistente' } })
  await account.send(failed)
  await account.settle()
  const dispute = await bank.run('openDispute', { e2eid: ids.contested })
  await bank.run('closeDispute', { id: dispute, isAccepted: true })
  await account.setPayee({ name: PAYEE.name, document: PAYEE.ownerDoc })
}

const read = (cursor: string | null = null, day = DAY) =>
  account.gateway.readStatement?.(day, cursor, signal()) ?? expect.unreachable()

/** Orders the report of the day and asks until it is made; returns its id. */
async function makeReport(): Promise<string> {
  let cursor: string | null = null
  for (let count = 0; count < 5; count++) {
    const result = await read(cursor)
    const value = result.outcome === 'ok' ? result.value : expect.unreachable(result.outcome)
    if (value.state === 'ready' && cursor !== null) return cursor
    cursor = value.state === 'making' ? value.cursor : expect.unreachable(value.state)
  }
  return expect.unreachable()
}

async function readWhole(): Promise<Statement> {
  const result = await read(await makeReport())
  if (result.outcome !== 'ok' || result.value.state !== 'ready') return expect.unreachable()
  return result.value.statement
}

const fail = (fault: Fault) => account.fail({ path: PATH, ...fault })
const respondWith = (text: string) => {
  const headers = { 'content-type': 'text/csv' }
  return fail({ kind: 'respond', method: 'GET', status: 200, body: text, headers })
}

/** Numbers of orders and questions about reports since the bank had this many exchanges. */
async function countCalls(after: number): Promise<{ orders: number; questions: number }> {
  const exchanges = await account.bank.run('readTraffic', { after })
  const reports = exchanges.filter(({ target }) => target.startsWith(PATH))
  const orders = reports.filter(({ method }) => method === 'POST').length
  return { orders, questions: reports.length - orders }
}

const countExchanges = async () => (await account.bank.run('readTraffic', {})).length

test('a day has its payments, fees, refunds, disputes, payouts and returns, and its balances agree', async () => {
  const { entries, ...totals } = await readWhole()
  expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
    ['payment', 10_000] as const,
    ['payment_fee', -119] as const,
    ['payment', 5_000] as const,
    ['payment_fee', -60] as const,
    ['refund', -400],
    ['payout', -30_000] as const,
    ['payout_fee', -50] as const,
    ['payout_return', 100],
    ['payout', -2_000] as const,
    ['payout_reversal', 2_000] as const,
    ['refund', -5_000],
  ])
  const closing = OPENING_BALANCE - 20_529
  expect(totals).toEqual({
    day: DAY,
    opening: OPENING_BALANCE,
    closing,
    difference: 0,
    missing: 0,
    unread: [],
  })
  expect(entries[0]).toMatchObject({ endToEndId: ids.payment, txid: null })
  expect(entries[4]).toMatchObject({ endToEndId: ids.payment, orderId: ids.refund })
  expect(entries[5]).toMatchObject({ orderId: paid.id, endToEndId: expect.stringMatching(/^E/) })
  expect(entries[7]).toMatchObject({ returnId: expect.stringMatching(/^D/) })
  expect(entries[10]).toMatchObject({ endToEndId: ids.contested })
  for (const { at } of entries) expect(dayOf(at)).toBe(DAY)
})

test('a day without movements begins and ends with the same balance', async () => {
  const day = '2026-01-15'
  await account.bank.run('change', { reportQuestions: 0 })
  const ordered = await read(null, day)
  await account.bank.run('change', { reportQuestions: 1 })
  expect(ordered).toMatchObject({ outcome: 'ok', value: { state: 'making', pauseMs: 0 } })
  const { cursor = '' } = (ordered as { value: { cursor?: string } }).value
  const statement = { day, opening: OPENING_BALANCE, closing: OPENING_BALANCE, entries: [] }
  expect(await read(cursor, day)).toMatchObject({ value: { state: 'ready', statement } })
})

test('a report in the making is asked for by its id, after a pause, and ordered once', async () => {
  await account.bank.run('change', { reportQuestions: 3 })
  const after = await countExchanges()
  const ordered = await read(null, '2026-02-01')
  expect(ordered).toMatchObject({ value: { state: 'making', pauseMs: 30_000 } })
  const { cursor = '' } = (ordered as { value: { cursor?: string } }).value
  for (let count = 0; count < 3; count++)
    expect(await read(cursor, '2026-02-01')).toEqual({
      outcome: 'ok',
      value: { state: 'making', cursor, pauseMs: 5_000 },
    })
  expect(await read(cursor, '2026-02-01')).toMatchObject({ value: { state: 'ready' } })
  await account.bank.run('change', { reportQuestions: 1 })
  expect(await countCalls(after)).toEqual({ orders: 1, questions: 4 })
})

test.each([
  ['today', () => dayOf(new Date())],
  ['in two days', () => dayOf(new Date(Date.now() + 2 * 86_400_000))],
  ['no day', () => 'ontem'],
  ['empty', () => ''],
])('a day that is %s is refused, and the bank not asked', async (_, findDay) => {
  const day = findDay()
  const after = await countExchanges()
  expect(await read(null, day)).toMatchObject({ outcome: 'rejected' })
  expect(await read('some-report', day)).toMatchObject({ outcome: 'rejected' })
  expect(await countExchanges()).toBe(after)
})

test.each<[string, Fault, object]>([
  ['429', { kind: 'respond', status: 429 }, { outcome: 'retryable', isRateLimit: true }],
  ['a lost response', { kind: 'half-close', hasActed: true, times: 2 }, { outcome: 'unknown' }],
  ['half of it', { kind: 'half-body' }, { outcome: 'unknown' }],
  ['an error', { kind: 'respond', status: 503 }, { outcome: 'unknown' }],
])('after %s, the same report is read again, and none ordered', async (_, fault, expected) => {
  const cursor = await makeReport()
  const after = await countExchanges()
  await fail({ method: 'GET', ...fault })
  expect(await read(cursor)).toMatchObject(expected)
  await account.bank.run('clearFaults')
  expect(await read(cursor)).toMatchObject({ value: { state: 'ready' } })
  expect(await countCalls(after)).toMatchObject({ orders: 0 })
})

test.each<[string, Fault, object]>([
  ['is limited', { kind: 'respond', status: 429 }, { outcome: 'retryable', isRateLimit: true }],
  ['loses its response', { kind: 'reset', hasActed: true }, { outcome: 'unknown' }],
  ['gets no id', { kind: 'respond', status: 202, body: '{}' }, { outcome: 'unknown' }],
  ['is refused', { kind: 'respond', status: 400, body: '{}' }, { outcome: 'rejected' }],
])('an order that %s can be repeated', async (_, fault, expected) => {
  await fail({ method: 'POST', ...fault })
  expect(await read()).toMatchObject(expected)
  expect((await readWhole()).difference).toBe(0)
})

test('a report that the bank does not have, or failed to make, must be ordered anew', async () => {
  const lost = { outcome: 'ok', value: { state: 'lost' } }
  expect(await read(newId())).toEqual(lost)
  const detail =
    'Ocorreu um erro interno na geração do relatório. Tente solicitar um novo relatório.'
  await fail({ kind: 'respond', method: 'GET', status: 500, body: JSON.stringify({ detail }) })
  expect(await read(newId())).toEqual(lost)
})

test('without a scope for reports, the reading is blocked', async () => {
  await fail({ kind: 'respond', status: 403, body: '{"error":"insufficient_scope"}', times: 2 })
  const blocked = { outcome: 'blocked', code: 'scope' }
  expect(await read()).toMatchObject(blocked)
  expect(await read('some-report')).toMatchObject(blocked)
})

test.each([
  ['is cut', () => file.replace(/^T;.*\n/m, ''), 'cut'],
  ['has another version', () => file.replace(';1.0\n', ';2.0\n'), 'layout'],
  ['is of another day', () => file.replaceAll(`;${DAY};`, ';2026-01-01;'), 'day'],
  ['is a page', () => '<html><body>Em manutenção</body></html>', 'layout'],
  ['is empty', () => '', 'empty'],
])('a report that %s is not read, and can be asked for again', async (_, change, flaw) => {
  const cursor = await makeReport()
  await respondWith(change())
  expect(await read(cursor)).toEqual({ outcome: 'ok', value: { state: 'unreadable', flaw } })
  expect(await read(cursor)).toMatchObject({ value: { state: 'ready' } })
})

test('an unknown record comes as the bank sent it, and is what the balances differ by', async () => {
  const [record = ''] = file.match(/^PR;.*;100\.00;.*$/m) ?? []
  const cursor = await makeReport()
  await respondWith(file.replace(record, `X${record}`))
  const { statement } = ((await read(cursor)) as { value: { statement: Statement } }).value
  expect(statement).toMatchObject({ unread: [`X${record}`], difference: 10_000, missing: 0 })
  expect(statement.entries).toHaveLength(10)
})

test('a record that is missing is counted, and a balance that is wrong is named', async () => {
  const cursor = await makeReport()
  const [record = ''] = file.match(/^TPE;.*\n/m) ?? []
  await respondWith(file.replace(record, ''))
  expect(await read(cursor)).toMatchObject({
    value: { statement: { missing: 1, difference: -50 } },
  })
  await respondWith(file.replace(/^SD1;/m, 'SD1;1'))
  const { statement } = ((await read(cursor)) as { value: { statement: Statement } }).value
  expect(statement).toMatchObject({ missing: 0 })
  expect(statement.difference).toBeGreaterThan(0)
})

test('the journal has the day and the counts, and nothing of the records', async () => {
  const { readStatement } = withConnectionJournal(account)
  const cursor = await makeReport()
  const [record = ''] = file.match(/^PR;.*$/m) ?? []
  await respondWith(file.replace(record, `X${record}`))
  expect(await readStatement?.(DAY, cursor)).toMatchObject({ value: { state: 'ready' } })
  const where = { connectionId: account.id, operation: 'readStatement' }
  const { request, response } = await db().gatewayCall.findFirstOrThrow({ where })
  expect(request).toEqual({ day: DAY })
  expect(response).toEqual({ state: 'ready', count: 10, unreadCount: 1 })
})
