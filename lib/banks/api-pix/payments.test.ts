import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BankClient } from '#lib/banks/api-pix/client.ts'
import { checkList, findPayments, listPayments } from '#lib/banks/api-pix/payments.ts'
import type { ReceivedPayment } from '#lib/banks/gateway.ts'
import { followLog } from '#lib/testing/log-tail.ts'
import { problem, StandardBank } from '#lib/testing/standard-bank.ts'

const SINCE = new Date(new Date(Date.now() - 3_600_000).setSeconds(0, 400))
const after = (minutes: number) => new Date(SINCE.getTime() + minutes * 60_000)
let bank: StandardBank
beforeEach(async () => {
  bank = await new StandardBank().open()
})
afterEach(() => bank.close())

const signal = () => AbortSignal.timeout(10_000)
const reader = ({ hasMilliseconds = true, pageSize = 100, since = SINCE } = {}) => {
  const client = new BankClient({ ...bank.clientOptions(), lookup: lookup as LookupFunction })
  const profile = { hasMilliseconds, pageSize }
  return (cursor: string | null) => listPayments({ client, profile }, since, cursor, signal())
}
async function readAll(read = reader(), between = (_page: number) => {}) {
  const found: ReceivedPayment[] = []
  for (let [cursor, page] = [null as string | null, 0]; ; page++) {
    const result = await read(cursor)
    if (result.outcome !== 'ok') return result
    found.push(...result.value.items)
    if (result.value.nextCursor === null) return found
    between(page)
    cursor = result.value.nextCursor
  }
}
const idsOf = (found: unknown) => (found as ReceivedPayment[]).map(({ endToEndId }) => endToEndId)

test('a payment has its amount, its time and its txid, if any', async () => {
  const [one, other] = [bank.receive('0.01', after(1)), bank.receive('15.00', after(2), 'abc')]
  expect(await readAll()).toEqual([
    { endToEndId: one.endToEndId, amount: 1, paidAt: after(1), txid: null },
    { endToEndId: other.endToEndId, amount: 1_500, paidAt: after(2), txid: 'abc' },
  ])
})

test('a payment without a time has that of its end-to-end id', async () => {
  const payment = bank.receive('1.00', after(1))
  bank.deform = body => ({ ...body, pix: [{ ...payment, horario: null }] })
  expect(await readAll()).toMatchObject([{ paidAt: new Date(after(1).setMilliseconds(0)) }])
})

test('an unreadable payment is logged, and keeps no other from being read', async () => {
  const readLog = followLog()
  const { endToEndId } = bank.receive('1.00', after(1))
  const unread = bank.receive('um real', after(1))
  expect(idsOf(await readAll())).toEqual([endToEndId])
  expect(await reader()(null)).toMatchObject({ value: { unread: [{ key: unread.endToEndId }] } })
  expect(readLog()).toContain('unreadable entries in a list')
})

test('all pages of a list end at one time', async () => {
  const ids = Array.from({ length: 7 }, (_, minute) => bank.receive('1.00', after(minute + 1)))
  expect(idsOf(await readAll())).toEqual(ids.map(({ endToEndId }) => endToEndId))
  const lists = bank.requests.filter(({ path }) => path === '/v2/pix')
  expect(lists.map(({ query }) => query.get('paginacao.paginaAtual'))).toEqual(['0', '1', '2'])
  expect(new Set(lists.map(({ query }) => query.get('fim'))).size).toBe(1)
})

test('a list that is longer than its first page said is read again', async () => {
  for (let minute = 1; minute <= 6; minute++) bank.receive('1.00', after(minute))
  let late = ''
  const found = await readAll(reader(), page => {
    if (page !== 0) return
    late = bank.receive('2.00', after(0)).endToEndId
    // The bank sorts by time: the late one moves the others by one place.
    bank.payments.unshift(...bank.payments.splice(-1))
  })
  const ids = bank.payments.map(({ endToEndId }) => endToEndId)
  expect(ids).toContain(late)
  expect(new Set(idsOf(found))).toEqual(new Set(ids))
})

test('a list that never stops changing is read later', async () => {
  for (let minute = 1; minute <= 6; minute++) bank.receive('1.00', after(minute))
  const found = await readAll(reader(), () => void bank.receive('1.00', after(7)))
  expect(found).toMatchObject({ outcome: 'retryable', isAnswered: true })
})

test('without information about its pages, a list ends with a page that is not full', async () => {
  for (let minute = 1; minute <= 5; minute++) bank.receive('1.00', after(minute))
  bank.deform = ({ pix }) => ({ pix })
  expect(idsOf(await readAll(reader({ pageSize: 3 })))).toHaveLength(5)
})

test('a bank that refuses milliseconds gets none, and the start is not later for it', async () => {
  await readAll(reader({ hasMilliseconds: false }))
  await readAll(reader({ hasMilliseconds: true }))
  const starts = bank.requests.flatMap(({ query }) => query.get('inicio') ?? [])
  const start = SINCE.toISOString()
  expect(starts).toEqual([start.replace('.400', ''), start])
})

test('a long list is read in periods of a day', async () => {
  const days = [0, 1, 2.5].map(count => new Date(Date.now() - count * 86_400_000))
  const ids = days.map(at => bank.receive('1.00', at).endToEndId)
  const since = new Date(Date.now() - 4 * 86_400_000)
  expect(new Set(idsOf(await readAll(reader({ since }))))).toEqual(new Set(ids))
  const periods = bank.requests
    .filter(({ path }) => path === '/v2/pix')
    .map(({ query }) => ['inicio', 'fim'].map(name => Date.parse(query.get(name) ?? '')))
  for (const [from = 0, to = 0] of periods) expect(to - from).toBeLessThanOrEqual(86_400_000)
  expect(periods.slice(1).map(([from]) => from)).toEqual(periods.slice(0, -1).map(([, to]) => to))
})

test('the payments of a charge are found in a list of any length', async () => {
  const client = new BankClient({ ...bank.clientOptions(), lookup: lookup as LookupFunction })
  const profile = { hasMilliseconds: true, pageSize: 1 }
  const since = new Date(Date.now() - 3 * 86_400_000)
  const ids = [0, 1, 2].map(days => {
    const paidAt = new Date(since.getTime() + days * 86_400_000 + 1_000)
    bank.receive('1.00', paidAt, 'other')
    return bank.receive('1.00', paidAt, 'wanted').endToEndId
  })
  bank.pageMax = 1
  const found = await findPayments({ client, profile }, since, 'wanted', signal())
  expect(found.outcome === 'ok' && idsOf(found.value.payments)).toEqual(ids)
})

test('a check reports that the bank refuses lists', async () => {
  const client = new BankClient({ ...bank.clientOptions(), lookup: lookup as LookupFunction })
  const profile = { hasMilliseconds: true, pageSize: 100 }
  bank.script.push(problem(400, 'PixConsultaInvalida'))
  expect(await checkList({ client, profile }, signal())).toMatchObject({ outcome: 'rejected' })
  expect(await checkList({ client, profile }, signal())).toEqual({ outcome: 'ok', value: null })
})

test.each<[string, object]>([
  ['without payments', { pix: [] }],
  ['whose payments are null', { parametros: { inicio: SINCE }, pix: null }],
  ['that omits its payments', { parametros: { inicio: SINCE } }],
])('a list %s is empty', async (_, body) => {
  bank.deform = () => body
  expect(await readAll()).toEqual([])
})

test.each<[string, unknown]>([
  ['nothing', {}],
  ['an error', { erro: 'Serviço em manutenção' }],
  ['errors', { erros: [{ mensagem: 'Serviço em manutenção' }] }],
  ['no payments and no pages', { pix: null }],
  ['text', 'ok'],
])('a 200 that contains %s is no empty list', async (_, body) => {
  bank.deform = () => body
  expect(await readAll()).toMatchObject({ outcome: 'unknown' })
})
