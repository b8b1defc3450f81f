import { beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant()
})

interface Row {
  kind?: string
  environment?: string | null
  disabledAt?: Date
  isAssignable?: boolean
}

async function insertConnection({
  kind = 'efi',
  environment = 'production',
  disabledAt,
  isAssignable = environment === 'production' && !disabledAt,
}: Row): Promise<string> {
  const id = newId()
  const data = { id, name: id, kind, environment, disabledAt, isAssignable, settings: {} }
  await db().connection.create({ data })
  return id
}

const assign = (receivingConnectionId: string) =>
  db().account.update({ where: { id: merchant.id }, data: { receivingConnectionId } })

test('a row that names no connection belongs to the simulator', async () => {
  const { id } = await openCharge(merchant)
  const charge = await db().charge.findFirst({ where: { id }, include: { connection: true } })
  expect(charge?.connectionId).toBe(SIMULATOR_CONNECTION_ID)
  expect(charge?.connection).toMatchObject({ kind: 'simulator', environment: null })
})

test('there is one simulator, and it is no bank', async () => {
  await expect(insertConnection({ kind: 'simulator', environment: null })).rejects.toThrow(
    'connections_one_simulator',
  )
  await expect(insertConnection({ environment: null })).rejects.toThrow(
    'connections_environment_of_banks',
  )
})

test('an account can be assigned to a connection for production', async () => {
  const id = await insertConnection({})
  expect((await assign(id)).receivingConnectionId).toBe(id)
})

test.each<[string, Row]>([
  ['a connection for homologation', { environment: 'homologation' }],
  ['a closed connection', { disabledAt: new Date() }],
])('the database refuses to assign an account to %s', async (_, row) => {
  await expect(assign(await insertConnection(row))).rejects.toThrow(
    'accounts_receiving_connection_id_fkey',
  )
  await expect(insertConnection({ ...row, isAssignable: true })).rejects.toThrow(
    'connections_assignable',
  )
})

test('the database refuses to assign an account to the simulator', async () => {
  await expect(assign(SIMULATOR_CONNECTION_ID)).rejects.toThrow(
    'accounts_receiving_connection_id_fkey',
  )
})

test('the database refuses to disable a connection that an account is assigned to', async () => {
  const id = await insertConnection({})
  await assign(id)
  const data = { disabledAt: new Date(), isAssignable: false }
  await expect(db().connection.update({ where: { id }, data })).rejects.toThrow(
    'accounts_receiving_connection_id_fkey',
  )
})

describe('the result of a check', () => {
  const CHECKED = { checkedAt: new Date(), checkCode: 'ok' }
  const codeAfter = async (data: object) => {
    const id = await insertConnection({})
    await db().connection.update({ where: { id }, data: { ...CHECKED, settings: { agency: 1 } } })
    await db().connection.update({ where: { id }, data: CHECKED })
    return (await db().connection.update({ where: { id }, data })).checkCode
  }

  test.each([
    ['credentials', { sealedCredentials: new Uint8Array([1]) }],
    ['settings', { settings: { agency: 2 } }],
    ['profile', { profile: 'blue' }],
    ['environment', { environment: 'homologation', isAssignable: false }],
  ])('is forgotten when the %s change', async (_, data) => {
    expect(await codeAfter(data)).toBeNull()
  })

  test.each([
    ['name', { name: newId() }],
    ['number of payouts in flight', { settings: { agency: 1, payouts_in_flight: 4 } }],
  ])('stays when the %s changes', async (_, data) => {
    expect(await codeAfter(data)).toBe('ok')
  })
})
