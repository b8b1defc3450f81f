import { beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { updateAccount } from '#lib/accounts/settings.ts'
import { cancelCharge } from '#lib/charges/cancel.ts'
import { createCharge } from '#lib/charges/create.ts'
import { findCharge } from '#lib/charges/list.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { describeCharge } from '#lib/charges/reveal.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { db, type Tx, transaction } from '#lib/db/client.ts'
import {
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeIdempotentRequest,
  makeMerchant,
} from '#lib/testing/fixtures.ts'
import { signIn } from '#lib/testing/member.ts'
import { untilLocked } from '#lib/testing/waiting.ts'

inOwnDatabase()

let merchant: Account
let ownerId: string
beforeAll(async () => {
  merchant = await makeMerchant()
  ownerId = await makeOwner(merchant)
})

async function makeOwner(account: Account): Promise<string> {
  await signIn(account, 'owner')
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: account.id } })
  return userId
}

function allow(repeats_external_ids: boolean, { id, name, city, expiresIn } = merchant) {
  const change = {
    name,
    city,
    expires_in: expiresIn,
    time_zone: 'America/Sao_Paulo',
    charge_review_above: null,
    shop_url: null,
    cnpj: null,
  }
  return updateAccount(id, { ...change, repeats_external_ids }, { type: 'user', id: ownerId })
}

function create(external_id: string, once?: ReturnType<typeof makeIdempotentRequest>) {
  return createCharge(merchant, 'test', { ...CHARGE, external_id }, null, once)
}

const code = (name: string) => expect.objectContaining({ code: name })

test('without the setting, an external_id is used once', async () => {
  await create('once')
  await expect(create('once')).rejects.toEqual(code('external_id_used'))
})

test('with it, charges repeat an external_id: reading finds the newest, writing refuses to choose', async () => {
  await allow(true)
  const first = await create('repeated')
  await simulateCharge(merchant.id, 'repeated', 'paid')
  const second = await create('repeated')
  expect((await findCharge(merchant.id, 'test', 'repeated'))?.id).toBe(second.id)
  expect((await findCharge(merchant.id, 'test', first.id))?.status).toBe('paid')
  const cancelled = { accountId: merchant.id, mode: 'test' } as const
  for (const write of [
    () => cancelCharge(cancelled, 'repeated'),
    () => simulateCharge(merchant.id, 'repeated', 'paid'),
    () => describeCharge(merchant.id, 'test', 'repeated', 'a'),
    () => createRefund(merchant.id, 'test', 'repeated', { amount: 100 }),
  ])
    await expect(write()).rejects.toEqual(code('external_id_ambiguous'))
  expect(await createRefund(merchant.id, 'test', first.id, { amount: 100 })).toBeDefined()
  await expectBalancedLedger(merchant.id)
})

test('the setting cannot be switched off while an external_id is repeated, and is audited', async () => {
  await allow(true)
  await create('kept')
  await create('kept')
  await expect(allow(false)).rejects.toEqual(code('external_ids_repeat'))
  const [entry] = await db().$queryRaw<object[]>`
    SELECT before, after FROM audit_log
    WHERE account_id = ${merchant.id}::uuid AND action = 'account.updated'`
  expect(entry).toMatchObject({
    before: { repeats_external_ids: false },
    after: { repeats_external_ids: true },
  })
})

test('without repetitions it can be switched off, and then nothing repeats', async () => {
  const other = await makeMerchant()
  const owner = await makeOwner(other)
  const change = {
    name: other.name,
    city: other.city,
    expires_in: 3_600,
    time_zone: 'UTC',
    charge_review_above: null,
    shop_url: null,
    cnpj: null,
  }
  const set = (repeats_external_ids: boolean | undefined) =>
    updateAccount(other.id, { ...change, repeats_external_ids }, { type: 'user', id: owner })
  const make = () => createCharge(other, 'test', { ...CHARGE, external_id: 'x' }, null)
  expect(await set(true)).toMatchObject({ repeats_external_ids: true })
  await make()
  expect(await set(undefined)).toMatchObject({ repeats_external_ids: true })
  expect(await set(false)).toMatchObject({ repeats_external_ids: false })
  await expect(make()).rejects.toEqual(code('external_id_used'))
})

test('a repetition waits for a change of the setting, and is refused once it is off', async () => {
  const other = await makeMerchant()
  const repeats = (isAllowed: boolean, tx: Pick<Tx, '$executeRaw'> = db()) =>
    tx.$executeRaw`UPDATE accounts SET repeats_external_ids = ${isAllowed} WHERE id = ${other.id}::uuid`
  const make = () => createCharge(other, 'test', { ...CHARGE, external_id: 'x' }, null)
  await repeats(true)
  await make()
  const repeated = await transaction(async tx => {
    await repeats(false, tx)
    const outcome = Promise.allSettled([make()])
    // Without a lock, the charge would be created at once.
    await Promise.race([untilLocked(1), outcome])
    return { outcome }
  })
  const refused = { status: 'rejected', reason: code('external_id_used') }
  expect(await repeated.outcome).toEqual([refused])
})

test('twenty charges with one external_id at the same time are all created; one key creates one', async () => {
  await allow(true)
  const many = await Promise.all(Array.from({ length: 20 }, () => create('at once')))
  expect(new Set(many.map(({ id }) => id)).size).toBe(20)
  const once = makeIdempotentRequest(merchant.id)
  expect((await create('at once', once)).id).toBe(once.id)
  await expect(create('at once', once)).rejects.toThrow()
  const count = await db().charge.count({
    where: { accountId: merchant.id, externalId: 'at once' },
  })
  expect(count).toBe(21)
})
