import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import { addEndpoint, deliverForMerchant } from '#lib/testing/deliveries.ts'
import {
  type Api,
  CANARY,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, signIn } from '#lib/testing/member.ts'
import { makeOrdersDue, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

// A database of its own: every due withdrawal is sent.
inOwnDatabase()

const OWNER = CANARY.formattedDocument
/** Document of no other person in this file. */
const SECRET = '111.444.777-35'
const MASKED = '***.444.777-**'
const WITHDRAWAL = { amount: 1_000, pix_key: 'hold@example.com', pix_key_type: 'email' }
const WITHOUT = PERMISSIONS.filter(name => name !== 'payers:read')

let api: Api
let receiver: Receiver
let merchant: Account
let full: string
let masked: string
beforeAll(async () => {
  api = await startApi()
  receiver = await openReceiver()
  merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000_000)
  full = await makeToken(merchant.id)
  masked = await makeToken(merchant.id, { permissions: WITHOUT })
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await receiver.close()
  await api.close()
})

const create = (extra: object, options: { token?: string; key?: string } = {}) =>
  call(api.url, 'POST', '/withdrawals', {
    token: full,
    ...options,
    body: { ...WITHDRAWAL, ...extra },
  })
const read = (id: string, token = full) => call(api.url, 'GET', `/withdrawals/${id}`, { token })
const countWithdrawals = () => db().withdrawal.count({ where: { accountId: merchant.id } })

async function createNaming(owner_doc: string, extra: object = {}): Promise<string> {
  const { status, body, text } = await create({ owner_doc, ...extra })
  expect(status, text).toBe(200)
  expect(text).not.toContain('owner_doc')
  return body.data.id
}

async function endOf(id: string) {
  await sendDueWithdrawals()
  await db().simulatorOrder.updateMany({ data: { settlesAt: new Date(0) } })
  await makeOrdersDue({ id })
  await sendDueWithdrawals()
  return (await read(id)).body.data
}

describe('owner_doc', () => {
  test('is returned as sent, and its key is absent if it was not sent', async () => {
    const id = await createNaming(OWNER)
    expect((await read(id)).body.data.owner_doc).toBe(OWNER)
    const other = (await create({})).body.data.id
    expect((await read(other)).text).not.toContain('owner_doc')
    for (const empty of [null, '']) {
      const { id: one } = (await create({ owner_doc: empty })).body.data
      expect((await read(one)).text).not.toContain('owner_doc')
    }
  })

  test.each([
    '529.982.247-26',
    '11.222.333/0001-82',
    '00000000000',
    '5299822472',
    'Ana',
    52998224725,
    `${' '.repeat(40)}52998224725`,
  ])('%j is refused, also in test mode, and nothing is stored', async owner_doc => {
    const before = await countWithdrawals()
    const { status, body } = await create({ owner_doc })
    expect([status, Object.keys(body.errors)]).toEqual([422, ['owner_doc']])
    expect(await countWithdrawals()).toBe(before)
  })

  test.each(['11.222.333/0001-81', '52998224725'])('accepts %s', async owner_doc => {
    const id = await createNaming(owner_doc)
    expect((await read(id)).body.data.owner_doc).toBe(owner_doc)
  })

  test('is given to the bank, which refuses a key of somebody else', async () => {
    const other = await createNaming(OWNER, { pix_key: 'stranger@example.com' })
    const right = await createNaming(OWNER, { pix_key: CANARY.document, pix_key_type: 'cpf' })
    expect(await endOf(other)).toMatchObject({
      status: 'rejected',
      owner_doc: OWNER,
      rejection_reason: 'The key belongs to another person or company',
    })
    expect(await endOf(right)).toMatchObject({ status: 'approved', owner_doc: OWNER })
  })
})

describe('without payers:read, owner_doc is masked', () => {
  const isLeaked = (text: string) => text.includes(SECRET) || text.includes('11144477735')

  test('for a token, in every read and in a replayed decision', async () => {
    const id = await createNaming(SECRET)
    const key = newId()
    const decide = (token: string) =>
      call(api.url, 'POST', `/sandbox/withdrawals/${id}`, {
        token,
        key,
        body: { outcome: 'approved' },
      })
    expect((await decide(full)).body.data.owner_doc).toBe(SECRET)
    for (const response of [
      await decide(masked),
      await read(id, masked),
      await call(api.url, 'GET', '/withdrawals', { token: masked }),
    ]) {
      expect(response.text).toContain(MASKED)
      expect(isLeaked(response.text)).toBe(false)
    }
    expect(isLeaked((await call(api.url, 'GET', '/withdrawals', { token: full })).text)).toBe(true)
  })

  test('for members of every role, and in all events', async () => {
    const shop = { webhook_url: `${receiver.url}/own` }
    await addEndpoint(merchant, `${receiver.url}/all`)
    const id = await createNaming(SECRET, shop)
    await call(api.url, 'POST', `/sandbox/withdrawals/${id}`, {
      token: full,
      body: { outcome: 'approved' },
    })
    await deliverForMerchant(merchant)
    const bodies = receiver.calls.map(({ text }) => text)
    const feed = await call(api.url, 'GET', '/events?limit=100', { token: full })
    const texts = [...bodies, feed.text]
    for (const role of ['owner', 'viewer'] as const) {
      const headers = pageHeaders(await signIn(merchant, role), merchant.id)
      for (const path of [`/dashboard/withdrawals/${id}/timeline`, `/withdrawals/${id}`])
        texts.push((await call(api.url, 'GET', path, { headers })).text)
    }
    expect(bodies).toHaveLength(2)
    for (const text of texts) {
      expect(text).toContain(MASKED)
      expect(isLeaked(text), text).toBe(false)
    }
  })
})

describe('an Idempotency-Key', () => {
  test('is used with another body if only owner_doc differs', async () => {
    const key = newId()
    expect((await create({ owner_doc: OWNER }, { key })).status).toBe(200)
    const same = await create({ owner_doc: OWNER }, { key })
    expect(same.headers.get('idempotent-replayed')).toBe('true')
    expect((await create({ owner_doc: '11.222.333/0001-81' }, { key })).status).toBe(422)
    expect((await create({}, { key })).status).toBe(422)
  })

  test('does not confirm a guess to a token without payers:read', async () => {
    const key = newId()
    await create({ owner_doc: OWNER }, { key })
    for (const owner_doc of [OWNER, '11.222.333/0001-81'])
      expect((await create({ owner_doc }, { key, token: masked })).status).toBe(422)
    const plain = newId()
    await create({}, { key: plain })
    const replay = await create({}, { key: plain, token: masked })
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
  })
})
