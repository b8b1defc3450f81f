import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openAt } from '#e2e/banks/open.ts'
import type { SettingsChange } from '#e2e/psp/settings.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import type { Gateway, GatewayResult, Listing, ReceivedPayment } from '#lib/banks/gateway.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

const HOUR_S = 3_600
const HOUR_MS = HOUR_S * 1_000
/** Payments per page that the profile asks for. */
const PAGE_SIZE = 100
const NO_LIMITS = { listMs: null, listPages: null, quirks: { hidesPages: false } }

// Its connections are no longer served when the bank has ended.
inOwnDatabase()

let bank: RunningBank
let gateway: Gateway
let ids: string[]
beforeAll(async () => {
  bank = await startBank()
  const paid = []
  // 8 hours with a crowd of three pages in their midst.
  for (let hour = 0; hour < 8; hour++) paid.push(pay(hour * HOUR_S + 60))
  for (let count = 0; count < 2.5 * PAGE_SIZE; count++) paid.push(pay(4 * HOUR_S + count * 10))
  ids = await Promise.all(paid)
})
afterAll(() => bank.stop())
beforeEach(async () => {
  await bank.run('clearFaults')
  await bank.run('change', NO_LIMITS)
  ;({ gateway } = await openAt(bank))
})

async function pay(secondsAgo: number): Promise<string> {
  const [payment] = await bank.run('pay', { key: bank.keys[0], amount: 100, secondsAgo })
  return payment?.e2eid ?? ''
}

async function readAll(): Promise<GatewayResult<string[]>> {
  const since = new Date(Date.now() - 8 * HOUR_MS)
  const found: string[] = []
  for (let cursor: string | null = null; ; ) {
    const page: GatewayResult<Listing<ReceivedPayment>> | undefined = await gateway.listPayments?.(
      since,
      cursor,
      AbortSignal.timeout(10_000),
    )
    if (page?.outcome !== 'ok') return page ?? expect.unreachable()
    found.push(...page.value.items.map(({ endToEndId }) => endToEndId))
    cursor = page.value.nextCursor
    if (cursor === null) return { outcome: 'ok', value: found }
  }
}

async function expectAll(): Promise<void> {
  const list = await readAll()
  expect(list.outcome === 'ok' && new Set(list.value)).toEqual(new Set(ids))
}

test.each<[string, SettingsChange]>([
  ['without limits', {}],
  ['that refuses more than 3 hours', { listMs: 3 * HOUR_MS }],
  ['that refuses all but two pages', { listPages: 2 }],
  ['that reports only two pages', { listPages: 2, quirks: { hidesPages: true } }],
])('a bank %s: each payment is found', async (_, limits) => {
  await bank.run('change', limits)
  await expectAll()
})

test('a list that shifts between its pages is read again', async () => {
  const [before, path] = [(await bank.run('readTraffic', {})).length, '/v2/pix']
  await bank.run('addFault', { kind: 'shift-pages', path, times: 3 })
  await expectAll()
  const pages = (await bank.run('readTraffic', { after: before })).map(({ target }) =>
    new URL(target, bank.url).searchParams.get('paginacao.paginaAtual'),
  )
  expect(pages.filter(page => page === '0')).toHaveLength(2)
})

test('a bank that refuses every list is asked a limited number of times', async () => {
  await bank.run('change', { listMs: -1 })
  const before = (await bank.run('readTraffic', {})).length
  expect(await readAll()).toMatchObject({ outcome: 'rejected' })
  expect((await bank.run('readTraffic', { after: before })).length).toBeLessThan(25)
})

test('payments that the list contains late are found by a later reading', async () => {
  await bank.run('change', { listsBehindMs: 60_000 })
  const late = await pay(30)
  await expectAll()
  await bank.run('change', { listsBehindMs: 0 })
  ids.push(late)
  await expectAll()
})
