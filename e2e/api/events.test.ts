import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { call } from '#lib/testing/call.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  makeToken,
  runAsOwner,
  startApi,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'
import { renewFeedEpochs } from '#lib/webhooks/events.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/
const EPOCH = /^[0-9a-f]{16}$/
const BLOCK = 2 ** 32
const EMPTY_FEED = '{"data":[],"next_after":0,"last_sequence":0}'
const MICROSECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

let api: Api
let merchant: Account
let token: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id)
})
afterAll(() => api.close())

const callApi = (method: string, path: string, body?: unknown) =>
  call(api.url, method, path, { token, body })
const listEvents = (query = '', caller = token) =>
  call(api.url, 'GET', `/events${query}`, { token: caller })
const simulateOutcome = (kind: string, id: string, outcome: string) =>
  callApi('POST', `/sandbox/${kind}/${id}`, { outcome })

async function createCharge(extra: object = {}): Promise<string> {
  return (await callApi('POST', '/transactions', { ...CHARGE, ...extra })).body.data.transaction_id
}

async function createEvents(count: number): Promise<void> {
  for (let index = 0; index < count; index++)
    await simulateOutcome('transactions', await createCharge(), 'failed')
}

/** Deletes older events, as the retention job does. */
function prune(oldestStored: number): Promise<unknown> {
  return runAsOwner(
    `DELETE FROM events
     WHERE account_id = '${merchant.id}' AND mode = 'test' AND sequence < ${oldestStored}`,
  )
}

const sequencesOf = (response: { body: { data: { sequence: number }[] } }) =>
  response.body.data.map(({ sequence }) => sequence)

describe('GET /events', () => {
  test.each(['paid', 'failed', 'expired'])(
    'returns a charge that is %s with the payload of its webhook',
    async outcome => {
      const id = await createCharge({ metadata: { order: 7 }, webhook_url: 'https://a.example/' })
      await simulateOutcome('transactions', id, outcome)
      const { status, body, headers } = await listEvents()
      expect(status).toBe(200)
      expect(headers.get('cache-control')).toBe('private, no-store')
      expect(Object.keys(body)).toEqual(['data', 'next_after', 'last_sequence'])
      expect(body.next_after).toBe(1)
      const [event] = body.data
      expect(event).toEqual({
        id: expect.stringMatching(UUID),
        type: `transaction.${outcome}`,
        event: outcome,
        mode: 'test',
        sequence: 1,
        created_at: expect.stringMatching(MICROSECONDS),
        transaction: (await callApi('GET', `/transactions/${id}`)).body.data,
      })
      expect(event.transaction).toMatchObject({ id, status: outcome, metadata: { order: 7 } })
      await expectBalancedLedger(merchant.id)
    },
  )

  test.each(['approved', 'rejected'])(
    'returns a withdrawal that is %s with the payload of its webhook',
    async outcome => {
      await fundMerchant(merchant, 5_000)
      const { id } = (await callApi('POST', '/withdrawals', WITHDRAWAL)).body.data
      await simulateOutcome('withdrawals', id, outcome)
      const { body } = await listEvents('?after=1')
      expect(body).toEqual({
        data: [
          {
            id: expect.stringMatching(UUID),
            type: `withdrawal.${outcome}`,
            event: outcome,
            mode: 'test',
            sequence: 2,
            created_at: expect.stringMatching(MICROSECONDS),
            withdrawal: (await callApi('GET', `/withdrawals/${id}`)).body.data,
          },
        ],
        next_after: 2,
        last_sequence: 2,
      })
      await expectBalancedLedger(merchant.id)
    },
  )

  test('an event has the state of its time, whatever happened afterwards', async () => {
    const id = await createCharge()
    await simulateOutcome('transactions', id, 'expired')
    const first = (await listEvents()).body.data[0]
    await simulateOutcome('transactions', id, 'paid')
    const [expired, paid] = (await listEvents()).body.data
    expect(expired).toEqual(first)
    expect(expired.transaction).toMatchObject({ status: 'expired', paid_at: null })
    expect(paid.transaction).toMatchObject({ status: 'paid', id })
  })

  test('oldest first, up to the limit; next_after continues without a gap', async () => {
    await createEvents(7)
    const first = await listEvents('?limit=3')
    expect(sequencesOf(first)).toEqual([1, 2, 3])
    const second = await listEvents(`?limit=3&after=${first.body.next_after}`)
    expect(sequencesOf(second)).toEqual([4, 5, 6])
    const third = await listEvents(`?limit=3&after=${second.body.next_after}`)
    expect(sequencesOf(third)).toEqual([7])
    expect(third.body.next_after).toBe(7)
    expect((await listEvents('?after=7')).text).toBe('{"data":[],"next_after":7,"last_sequence":7}')
    await createEvents(1)
    expect(sequencesOf(await listEvents('?after=7'))).toEqual([8])
  })

  test('an account without events gets an empty page and next_after 0', async () => {
    expect((await listEvents()).text).toBe(EMPTY_FEED)
    expect((await listEvents('?after=0&limit=1')).text).toBe(EMPTY_FEED)
  })

  test('forty concurrent events are numbered 1 to 40, and a concurrent reader misses none', async () => {
    const ids = await Promise.all(Array.from({ length: 40 }, () => createCharge()))
    const sequences: number[] = []
    const decisions = Promise.all(ids.map(id => simulateOutcome('transactions', id, 'paid')))
    let isDone = false
    void decisions.then(() => {
      isDone = true
    })
    for (let after = 0, isLast = false; !isLast; ) {
      isLast = isDone
      const response = await listEvents(`?after=${after}&limit=9`)
      sequences.push(...sequencesOf(response))
      isLast &&= response.body.data.length === 0
      after = response.body.next_after
    }
    expect(sequences).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
    expect((await decisions).every(({ status }) => status === 200)).toBe(true)
    await expectBalancedLedger(merchant.id)
  })

  test('returns 100 events by default and at most', async () => {
    await createEvents(1)
    // Copies the event, because creating 119 events through the API would take long.
    await withOwner(
      owner => owner.$executeRaw`
      INSERT INTO events (account_id, id, mode, sequence, type, subject_id, resource)
      SELECT account_id, gen_random_uuid(), mode, nth + 1, type, subject_id, resource
      FROM events, generate_series(1, 119) AS nth WHERE account_id = ${merchant.id}::uuid`,
    )
    const where = { accountId: merchant.id, mode: 'test' }
    await withOwner(owner => owner.eventSequence.updateMany({ where, data: { last: 120 } }))
    expect(sequencesOf(await listEvents())).toHaveLength(100)
    expect(sequencesOf(await listEvents('?limit=100'))).toHaveLength(100)
    expect(sequencesOf(await listEvents('?after=100'))).toHaveLength(20)
  })

  test('410 with the oldest stored sequence when events that the reader has not read were pruned', async () => {
    await createEvents(6)
    await prune(4)
    for (const query of ['', '?after=0', '?after=2', '?after=2&limit=1']) {
      const { status, text, headers } = await listEvents(query)
      expect([status, text]).toEqual([
        410,
        '{"error":"Events before sequence 4 have been deleted: continue with after=3"}',
      ])
      expect(headers.get('x-error-code')).toBe('events_gone')
      expect(headers.get('troco-last-sequence')).toBe('6')
    }
    expect(sequencesOf(await listEvents('?after=3'))).toEqual([4, 5, 6])
    expect(sequencesOf(await listEvents('?after=5'))).toEqual([6])
  })

  test('410 also when all events were pruned, but not for a reader that has them all', async () => {
    await createEvents(3)
    await prune(100)
    const response = await listEvents('?after=1')
    expect([response.status, response.text]).toEqual([
      410,
      '{"error":"Events before sequence 4 have been deleted: continue with after=3"}',
    ])
    expect((await listEvents('?after=3')).text).toBe('{"data":[],"next_after":3,"last_sequence":3}')
    await createEvents(1)
    expect(sequencesOf(await listEvents('?after=3'))).toEqual([4])
  })

  test('422 with the last sequence for an after beyond the newest event', async () => {
    expect((await listEvents('?after=1')).status).toBe(422)
    await createEvents(1)
    expect((await listEvents('?after=1')).status).toBe(200)
    for (const after of [2, 5, 10 ** 15 - 1]) {
      const { status, body, headers } = await listEvents(`?after=${after}`)
      expect([status, body]).toEqual([
        422,
        { errors: { after: ['after must be at most 1, the last_sequence of this feed'] } },
      ])
      expect(headers.get('x-error-code')).toBe('after_beyond_feed')
      expect(headers.get('troco-feed-epoch')).toMatch(EPOCH)
      expect(headers.get('troco-continue-after')).toBe('1')
      expect(headers.get('troco-last-sequence')).toBe('1')
    }
  })

  test('410 for the epoch of another feed, with where to go on', async () => {
    await createEvents(2)
    const readEpoch = async (caller?: string) =>
      (await listEvents('', caller)).headers.get('troco-feed-epoch') ?? ''
    const [own, other] = [
      await readEpoch(),
      await readEpoch(await makeToken((await makeMerchant()).id)),
    ]
    expect([own, other]).toEqual([expect.stringMatching(EPOCH), expect.stringMatching(EPOCH)])
    expect(other).not.toBe(own)
    expect(sequencesOf(await listEvents(`?after=1&epoch=${own}`))).toEqual([2])
    const expectMoved = async (query: string, epoch: string) => {
      const { status, body, headers } = await listEvents(query)
      const error =
        'This feed has another epoch: continue with the one in Troco-Feed-Epoch and after=0'
      expect([status, body]).toEqual([410, { error }])
      expect(headers.get('x-error-code')).toBe('feed_epoch_changed')
      expect(headers.get('troco-feed-epoch')).toBe(epoch)
      expect(headers.get('troco-continue-after')).toBe('0')
      expect(headers.get('troco-last-sequence')).toBe('2')
    }
    // Also for a cursor beyond the end: the epoch says more than the sequence.
    for (const after of [1, 900]) await expectMoved(`?after=${after}&epoch=${other}`, own)
  })

  test('after a restore, 410 with what was kept and where to go on for whoever was further', async () => {
    await createEvents(3)
    const before = (await listEvents()).headers.get('troco-feed-epoch')
    expect(await renewFeedEpochs(merchant.id)).toBe(2)
    const epoch = (await listEvents()).headers.get('troco-feed-epoch')
    expect([epoch, epoch === before]).toEqual([expect.stringMatching(EPOCH), false])
    const expectGone = async (query: string, continueAfter: number) => {
      const { status, headers, body } = await listEvents(query)
      expect([status, headers.get('x-error-code')]).toEqual([410, 'feed_restored'])
      expect(body.error).toContain('after sequence 3:')
      expect(body.error).toContain(`after=${continueAfter}`)
      expect(headers.get('troco-continue-after')).toBe(String(continueAfter))
      expect(headers.get('troco-last-kept')).toBe('3')
      expect(headers.get('troco-last-sequence')).toBe(String(BLOCK))
      expect(headers.get('troco-feed-epoch')).toBe(epoch)
    }
    for (const after of [4, 121, BLOCK - 1])
      for (const known of ['', `&epoch=${before}`, `&epoch=${epoch}`])
        await expectGone(`?after=${after}${known}`, BLOCK)
    await expectGone(`?after=2&epoch=${before}`, 2)
    await expectGone(`?after=3&epoch=${before}`, 3)
    expect(sequencesOf(await listEvents(`?after=0&epoch=${epoch}`))).toEqual([1, 2, 3])
    expect((await listEvents('?after=3')).text).toBe(
      `{"data":[],"next_after":${BLOCK},"last_sequence":${BLOCK}}`,
    )
    await createEvents(2)
    const read = await listEvents(`?after=1&epoch=${epoch}`)
    expect(sequencesOf(read)).toEqual([2, 3, BLOCK + 1, BLOCK + 2])
    expect(read.body.next_after).toBe(BLOCK + 2)
    await renewFeedEpochs(merchant.id)
    expect((await listEvents(`?after=${BLOCK + 3}`)).headers.get('troco-continue-after')).toBe(
      String(2 * BLOCK),
    )
    expect((await listEvents(`?after=4&epoch=${before}`)).headers.get('troco-last-kept')).toBe('3')
    await prune(2 * BLOCK)
    expect((await listEvents(`?after=${BLOCK + 2}`)).status).toBe(200)
    expect((await listEvents('?after=1')).headers.get('x-error-code')).toBe('events_gone')
  })

  test('a feed that a restore found empty can be read from 0', async () => {
    await renewFeedEpochs(merchant.id)
    expect((await listEvents()).text).toBe(
      `{"data":[],"next_after":${BLOCK},"last_sequence":${BLOCK}}`,
    )
    await createEvents(1)
    expect(sequencesOf(await listEvents())).toEqual([BLOCK + 1])
  })

  test.each([
    ['after', ['-1', '1.5', 'x', '0x1', '1e3', '1'.repeat(16), ' 1', '\0']],
    ['epoch', ['x', 'ABCDEF0123456789', '0123456789abcdef0', '\0']],
    ['limit', ['0', '101', '-1', 'x', '1.5']],
  ])('422 under %s for an invalid value', async (field, values) => {
    for (const value of values) {
      const { status, body } = await listEvents(`?${new URLSearchParams({ [field]: value })}`)
      expect([status, Object.keys(body.errors)], value).toEqual([422, [field]])
    }
  })

  test('requires events:read and no other permission', async () => {
    const [withoutPermission, onlyPermission] = [
      await makeToken(merchant.id, {
        permissions: PERMISSIONS.filter(name => name !== 'events:read'),
      }),
      await makeToken(merchant.id, { permissions: ['events:read'] }),
    ]
    const denied = await listEvents('', withoutPermission)
    expect([denied.status, denied.text]).toEqual([
      403,
      '{"error":"Permission denied: events:read"}',
    ])
    expect(denied.headers.get('x-required-permission')).toBe('events:read')
    expect((await listEvents('', onlyPermission)).status).toBe(200)
  })

  test('returns no event of another account or mode', async () => {
    await createEvents(2)
    const stranger = await makeToken((await makeMerchant()).id)
    expect((await listEvents('', stranger)).text).toBe(EMPTY_FEED)
    const tokenOptions = { accountId: merchant.id, mode: 'live' as const, name: 'live' }
    const live = await issueToken(
      { ...tokenOptions, permissions: [...PERMISSIONS] },
      { type: 'system' },
    )
    expect((await listEvents('', live.token)).text).toBe(EMPTY_FEED)
  })
})
