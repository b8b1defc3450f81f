import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { GatewayResult, UnreadPayment } from '#lib/banks/gateway.ts'
import { createPaymentReader, hastenReading } from '#lib/charges/read-payments.ts'
import { OPERATOR_ACCOUNT_ID, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection, connectBank, openLiveCharge } from '#lib/testing/connection.ts'
import { expectBalancedLedger, inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { makePayment } from '#lib/testing/payments.ts'

// The reader reads the lists of all connections.
inOwnDatabase()

const AMOUNT = 100_000
const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 24 * 60 * MINUTE_MS

/** A bank whose lists fail as a test says. */
class ListBank extends StubBank {
  /** Results of the next calls in turn; undefined: the list. */
  readonly script: (GatewayResult<never> | undefined)[] = []
  readonly calls: { since: Date; cursor: string | null }[] = []
  readonly unread: UnreadPayment[] = []
  /** Runs before each call. */
  meanwhile = async () => {}

  override async listPayments(since: Date, cursor: string | null, signal?: AbortSignal) {
    this.calls.push({ since, cursor })
    await this.meanwhile()
    const scripted = this.script.shift()
    if (scripted) return scripted
    const page = await super.listPayments(since, cursor, signal)
    return page.outcome === 'ok' ? { ...page, value: { ...page.value, unread: this.unread } } : page
  }
}

let merchant: Account
let bank: ListBank
let connectionId: string
/** The clock of the reader, which moves only by `pass`. */
let clock: number
const now = () => new Date(clock)
const pass = (ms: number) => {
  clock += ms
}
beforeEach(async () => {
  // Connections of other tests are not due.
  await db().paymentReading.updateMany({ data: { dueAt: new Date('2100-01-01') } })
  merchant = await makeMerchant()
  bank = new ListBank()
  connectionId = await connectBank(bank, merchant)
  clock = Date.now()
})
afterAll(() => expectBalancedLedger(OPERATOR_ACCOUNT_ID))

/** Starts what is due and awaits it. Returns by how much each list began before now, in seconds. */
async function read(reader = createPaymentReader(now)): Promise<number[]> {
  const before = bank.calls.length
  await reader.run()
  await reader.idle()
  const begun = bank.calls.slice(before).filter(({ cursor }) => cursor === null)
  return begun.map(({ since }) => Math.round((clock - since.getTime()) / SECOND_MS)).sort(byNumber)
}
const byNumber = (one: number, other: number) => one - other
const statusOf = async (id: string) =>
  (await db().charge.findFirstOrThrow({ where: { id } })).status
const readingOf = (pace: string) =>
  db().paymentReading.findFirstOrThrow({ where: { connectionId, pace } })
const payFor = (id: string, amount = AMOUNT) =>
  bank.payments.push(makePayment(amount, { txid: removeHyphens(id) }))

/** A connection of which everything was read a moment ago. */
async function begin(ageMs = 10 * DAY_MS): Promise<void> {
  const createdAt = new Date(clock - ageMs)
  await db().connection.update({ where: { id: connectionId }, data: { createdAt } })
  await read()
  for (const row of await db().paymentReading.findMany({ where: { connectionId } }))
    await db().paymentReading.updateMany({
      where: { connectionId, pace: row.pace },
      data: { readUntil: now(), until: now(), since: now() },
    })
  bank.calls.length = 0
}

describe('payments are listed', () => {
  test('from 10 minutes before the connection was added, at first', async () => {
    await db().connection.update({
      where: { id: connectionId },
      data: { createdAt: new Date(clock - 60 * MINUTE_MS) },
    })
    expect(await read()).toEqual([70 * 60, 70 * 60])
  })

  test('each 15 seconds minus 90 while the bank has charges that may be paid', async () => {
    await begin()
    expect(await read()).toEqual([])
    const { id } = await openLiveCharge(merchant, AMOUNT)
    expect(await read()).toEqual([90])
    pass(14 * SECOND_MS)
    expect(await read()).toEqual([])
    pass(SECOND_MS)
    expect(await read()).toEqual([15 + 90])
    await db().charge.updateMany({ where: { id }, data: { dueAt: null } })
    pass(4 * MINUTE_MS)
    expect(await read()).toEqual([])
  })

  test('each 5 minutes minus 10, and each day minus 48 hours, without any charge', async () => {
    await begin()
    pass(5 * MINUTE_MS - SECOND_MS)
    expect(await read()).toEqual([])
    pass(SECOND_MS)
    expect(await read()).toEqual([15 * 60])
    pass(5 * MINUTE_MS)
    expect(await read()).toEqual([15 * 60])
    pass(DAY_MS - 10 * MINUTE_MS - SECOND_MS)
    const sinceLast = 24 * 3_600 - 1
    expect(await read()).toEqual([sinceLast])
    pass(SECOND_MS)
    expect(await read()).toEqual([48 * 3_600 + 1])
  })

  test('since the last complete reading, however long ago that was', async () => {
    await begin()
    pass(3 * DAY_MS)
    expect(await read()).toEqual([3 * DAY_MS + 10 * MINUTE_MS, 5 * DAY_MS].map(ms => ms / 1_000))
  })

  test('for 7 days after the connection was disabled', async () => {
    await begin()
    const data = { disabledAt: now(), isAssignable: false }
    await db().account.updateMany({
      data: { receivingConnectionId: null, payingConnectionId: null },
    })
    await db().connection.update({ where: { id: connectionId }, data })
    pass(7 * DAY_MS - SECOND_MS)
    expect(await read()).toHaveLength(2)
    pass(2 * DAY_MS)
    expect(await read()).toEqual([])
  })

  test('by one process at a time, and by another after a process died', async () => {
    await begin()
    pass(5 * MINUTE_MS)
    const others: number[][] = []
    bank.meanwhile = async () => {
      bank.meanwhile = async () => {}
      others.push(await read())
    }
    await read()
    expect(others).toEqual([[]])
    const lost = { lease: crypto.randomUUID(), dueAt: new Date(clock + 30 * SECOND_MS) }
    await db().paymentReading.updateMany({ where: { connectionId, pace: 'late' }, data: lost })
    expect(await read()).toEqual([])
    pass(30 * SECOND_MS)
    expect(await read()).toHaveLength(1)
  })
})

describe('a payment that no notice announced', () => {
  test('is credited once, however often it is listed', async () => {
    const { id } = await openLiveCharge(merchant, AMOUNT)
    payFor(id)
    for (let round = 0; round < 3; round++) {
      expect((await read()).length).toBeGreaterThan(0)
      pass(DAY_MS)
    }
    expect(await statusOf(id)).toBe('paid')
    expect(bank.queriedIds).toEqual([])
    await expectBalancedLedger(merchant.id)
    const transfers = await db().ledgerTransfer.count({ where: { accountId: merchant.id } })
    expect(transfers).toBe(1)
  })

  test('and of another amount, a second one and one without txid are among the differences', async () => {
    const [wrong, twice] = [
      await openLiveCharge(merchant, AMOUNT),
      await openLiveCharge(merchant, AMOUNT),
    ]
    payFor(wrong.id, AMOUNT - 1)
    payFor(twice.id)
    payFor(twice.id)
    bank.payments.push(makePayment(70))
    await read()
    pass(DAY_MS)
    await read()
    expect([await statusOf(wrong.id), await statusOf(twice.id)]).toEqual(['pending', 'paid'])
    const items = await db().difference.findMany({ where: { connectionId } })
    expect(items.map(({ kind }) => kind).sort()).toEqual([
      'payment_amount',
      'payment_repeated',
      'payment_unmatched',
    ])
  })
})

test('a payment that cannot be read is among the differences once, with the charge that it names', async () => {
  const { id } = await openLiveCharge(merchant, AMOUNT)
  const sent = '{"valor":"mil"}'
  bank.unread.push(
    { key: 'E1', txid: removeHyphens(id), sent },
    { key: 'E2', txid: 'unknown', sent },
  )
  payFor((await openLiveCharge(merchant, AMOUNT)).id)
  for (let round = 0; round < 2; round++) {
    expect((await read()).length).toBeGreaterThan(0)
    pass(DAY_MS)
  }
  expect(await db().unmatchedPayment.count({ where: { connectionId } })).toBe(0)
  const items = await db().difference.findMany({ where: { connectionId }, orderBy: { key: 'asc' } })
  const of = { account_id: merchant.id, transaction_id: id, expected_amount: AMOUNT }
  expect(items).toMatchObject([
    { kind: 'payment_unreadable', key: 'E1', facts: { ...of, sent } },
    { kind: 'payment_unreadable', key: 'E2', facts: { sent } },
  ])
})

test.each([
  ['same', 'pix@example.com', 'paid', 0],
  ['other', 'other@example.com', 'pending', 1],
])(
  'a payment that a connection with the %s key lists while its own fails: %s is %s',
  async (...row) => {
    const [, key, status, suspended] = row
    const { id } = await openLiveCharge(merchant, AMOUNT)
    const other = new ListBank()
    const otherId = await addConnection(other, { receivingKeys: [key] })
    const createdAt = new Date(clock - DAY_MS)
    await db().connection.update({ where: { id: otherId }, data: { createdAt } })
    const paidAt = new Date(clock - 2 * 60 * MINUTE_MS)
    other.payments.push(makePayment(AMOUNT, { txid: removeHyphens(id), paidAt }))
    bank.script.push(
      ...Array(3).fill({ outcome: 'blocked', code: 'certificate', reason: 'revoked' }),
    )
    await read()
    expect(await statusOf(id)).toBe(status)
    expect(await db().unmatchedPayment.count({ where: { connectionId: otherId } })).toBe(suspended)
  },
)

describe('a notice', () => {
  const dueInHours = (data: object) =>
    db().paymentReading.updateMany({
      where: { connectionId },
      data: { dueAt: new Date(clock + DAY_MS), ...data },
    })

  test('makes one reading due, also if none has been made yet', async () => {
    for (const period of [{}, { since: null, until: null }]) {
      await begin()
      await dueInHours(period)
      expect(await read()).toEqual([])
      await hastenReading(connectionId, 'late')
      expect(await read()).toHaveLength(1)
      expect(await read()).toEqual([])
    }
  })

  test('that comes while the list is read leads to another reading', async () => {
    await begin()
    await hastenReading(connectionId, 'late')
    bank.meanwhile = async () => {
      bank.meanwhile = async () => {}
      await hastenReading(connectionId, 'late')
      expect(await read()).toEqual([])
    }
    await read()
    expect(await read()).toHaveLength(1)
    expect(await read()).toEqual([])
  })
})

describe('a reading that fails', () => {
  const failing = { outcome: 'unknown', reason: '503' } as const

  beforeEach(async () => {
    await begin()
    for (let count = 0; count < 7; count++) bank.payments.push(makePayment(50 + count))
    pass(5 * MINUTE_MS)
  })
  const cursors = () => bank.calls.map(({ cursor }) => cursor)
  const isAllBooked = async () =>
    (await db().unmatchedPayment.count({ where: { connectionId } })) === bank.payments.length

  test('goes on where it was, and moves the next one only when it ends', async () => {
    bank.script.push(undefined, undefined, failing)
    const { readUntil } = await readingOf('late')
    await read()
    expect(cursors()).toEqual([null, '2', '4'])
    expect(await readingOf('late')).toMatchObject({ readUntil, position: '4', lease: null })
    pass(15 * SECOND_MS)
    const began = (await readingOf('late')).until
    await read()
    expect(cursors()).toEqual([null, '2', '4', '4', '6'])
    expect(await readingOf('late')).toMatchObject({ readUntil: began, position: null })
    expect(await isAllBooked()).toBe(true)
  })

  test('begins anew after it failed twice at one position', async () => {
    bank.script.push(undefined, failing, failing)
    await read()
    pass(15 * SECOND_MS)
    await read()
    pass(15 * SECOND_MS)
    await read()
    expect(cursors()).toEqual([null, '2', '2', null, '2', '4', '6'])
    expect(await isAllBooked()).toBe(true)
  })

  test('goes on where the failed list wants it to', async () => {
    bank.script.push({ ...failing, retryCursor: '2' }, { ...failing, retryCursor: '4' })
    for (let round = 0; round < 3; round++) {
      await read()
      pass(15 * SECOND_MS)
    }
    expect(cursors()).toEqual([null, '2', '4', '6'])
  })

  test.each<[string, GatewayResult<never>, number]>([
    ['fails', failing, 15],
    ['wants a pause', { outcome: 'retryable', reason: '429', retryAfterMs: 40_000 }, 40],
    ['blocks it', { outcome: 'blocked', code: 'scope', reason: 'pix.read' }, 300],
    ['refuses it', { outcome: 'rejected', code: 'unspecified', params: {}, bankText: null }, 300],
  ])('is repeated after a pause: the bank %s', async (_, result, seconds) => {
    bank.script.push(result)
    await read()
    pass((seconds - 1) * SECOND_MS)
    expect(await read()).toEqual([])
    pass(SECOND_MS)
    expect(await read()).toHaveLength(1)
  })

  describe('because the bank wants a pause', () => {
    const limited = (retryAfterMs: number) =>
      ({ outcome: 'retryable', reason: '429', isRateLimit: true, retryAfterMs }) as const

    test('waits, and is followed by none for a notice before the pause ends', async () => {
      bank.script.push(limited(40_000))
      await read()
      await hastenReading(connectionId, 'late')
      pass(39 * SECOND_MS)
      expect(await read()).toEqual([])
      pass(SECOND_MS)
      expect(await read()).toHaveLength(1)
      expect(await read()).toEqual([])
    })

    test('keeps those of other paces waiting, too', async () => {
      bank.script.push(limited(40_000))
      await read()
      await openLiveCharge(merchant, AMOUNT)
      expect(await read()).toEqual([])
      pass(40 * SECOND_MS)
      expect(await read()).toHaveLength(2)
    })

    test('goes on after it, and then begins anew for a notice that came meanwhile', async () => {
      bank.script.push(undefined, limited(40_000))
      await read()
      await hastenReading(connectionId, 'late')
      expect(await read()).toEqual([])
      pass(40 * SECOND_MS)
      await read()
      await read()
      await read()
      expect(cursors()).toEqual([null, '2', '2', '4', '6', null, '2', '4', '6'])
    })

    test('is not kept waiting by a worker whose clock was ahead', async () => {
      bank.script.push(limited(40_000))
      pass(DAY_MS)
      await read()
      pass(-DAY_MS)
      expect((await read()).length).toBeGreaterThan(0)
    })
  })

  test('ends when the worker stops, and goes on elsewhere at once', async () => {
    const stopping = new AbortController()
    bank.meanwhile = async () => stopping.abort()
    const reader = createPaymentReader(now)
    await reader.run(stopping.signal)
    await reader.idle()
    expect(cursors()).toEqual([null])
    bank.meanwhile = async () => {}
    await read()
    expect(cursors()).toEqual([null, '2', '4', '6'])
    expect(await isAllBooked()).toBe(true)
  })

  test('writes nothing after another process has taken it over', async () => {
    const lease = crypto.randomUUID()
    bank.meanwhile = async () =>
      void (await db().paymentReading.updateMany({
        where: { connectionId, pace: 'late' },
        data: { lease, position: '6' },
      }))
    for (const script of [[], [], [failing]]) {
      bank.script.push(...script)
      await db().paymentReading.updateMany({
        where: { connectionId, pace: 'late' },
        data: { dueAt: now() },
      })
      await read()
      expect(await readingOf('late')).toMatchObject({ lease, position: '6' })
    }
    expect(cursors()).toEqual([null, '6', '6'])
  })

  test('keeps no other connection from being read', async () => {
    const other = new ListBank()
    await connectBank(other, await makeMerchant())
    const hanging = Promise.withResolvers<void>()
    bank.meanwhile = () => hanging.promise
    const reader = createPaymentReader(now)
    await reader.run()
    await expect.poll(() => other.calls.length).toBeGreaterThan(0)
    expect(bank.calls).toHaveLength(1)
    hanging.resolve()
    await reader.idle()
  })
})
