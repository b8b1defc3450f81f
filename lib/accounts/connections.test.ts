import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { assignConnections, closeConnection } from '#lib/accounts/connections.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

const ACTOR = { type: 'command_line' } as const
const NONE = { receiving_id: null, paying_id: null }

let merchant: Account
let blue: string
let green: string
const names = () => ({ [blue]: `Azul ${blue}`, [green]: `Verde ${green}` })
beforeAll(async () => {
  blue = await addConnection(new StubBank())
  green = await addConnection(new StubBank())
  for (const [id, name] of Object.entries(names()))
    await db().connection.update({ where: { id }, data: { name } })
})
beforeEach(async () => {
  merchant = await makeMerchant()
})

async function readAssigned(id = merchant.id) {
  const account = await db().account.findUniqueOrThrow({ where: { id } })
  const { receivingConnectionId, payingConnectionId } = account
  return { receiving_id: receivingConnectionId, paying_id: payingConnectionId }
}
const recordsOf = async (accountId: string) => {
  const action = 'account.connections_assigned'
  const where = { accountId, action }
  const records = await db().auditRecord.findMany({ where, orderBy: { id: 'asc' } })
  return records.map(({ before, after }) => [before, after])
}

describe('assigning', () => {
  test('sets and removes both connections, and records what changed by name', async () => {
    const both = { receiving_id: blue, paying_id: green }
    expect(await assignConnections(merchant.id, both, ACTOR)).toEqual(both)
    expect(await readAssigned()).toEqual(both)
    await assignConnections(merchant.id, both, ACTOR)
    await assignConnections(merchant.id, { ...both, paying_id: null }, ACTOR)
    await assignConnections(merchant.id, NONE, ACTOR)
    expect(await readAssigned()).toEqual(NONE)
    const { [blue]: blueName, [green]: greenName } = names()
    expect(await recordsOf(merchant.id)).toEqual([
      [
        { receives_through: null, pays_through: null },
        { receives_through: blueName, pays_through: greenName },
      ],
      [{ pays_through: greenName }, { pays_through: null }],
      [{ receives_through: blueName }, { receives_through: null }],
    ])
  })

  test('returns null for an unknown account', async () => {
    expect(await assignConnections(newId(), NONE, ACTOR)).toBeNull()
    expect(await assignConnections('x', NONE, ACTOR)).toBeNull()
  })

  const CANNOT_SERVE = 'must be a connection for production that is not closed'
  const UNCHECKED = 'must be a connection that has passed its check'
  test.each<[string, object, string]>([
    ['for homologation', { environment: 'homologation', isAssignable: false }, CANNOT_SERVE],
    ['that is closed', { disabledAt: new Date(), isAssignable: false }, CANNOT_SERVE],
    ['that was never checked', { checkedAt: null, checkCode: null }, UNCHECKED],
    ['that failed its check', { checkCode: 'rejected' }, UNCHECKED],
  ])('refuses a connection %s, in both directions', async (_, changes, rule) => {
    const id = await addConnection(new StubBank(), changes)
    for (const name of ['receiving_id', 'paying_id'] as const) {
      await expect(
        assignConnections(merchant.id, { ...NONE, [name]: id }, ACTOR),
      ).rejects.toMatchObject({ code: 'invalid_input', fields: { [name]: [`${name} ${rule}`] } })
    }
    expect(await readAssigned()).toEqual(NONE)
    expect(await recordsOf(merchant.id)).toEqual([])
  })

  test.each([
    ['the simulator', SIMULATOR_CONNECTION_ID],
    ['an unknown connection', newId()],
  ])('refuses %s', async (_, id) => {
    await expect(
      assignConnections(merchant.id, { ...NONE, receiving_id: id }, ACTOR),
    ).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('refuses a connection that has no key for the direction', async () => {
    const receiving = await addConnection(new StubBank(), { payingKey: null })
    const paying = await addConnection(new StubBank(), { receivingKeys: [] })
    const swapped = { receiving_id: paying, paying_id: receiving }
    for (const [name, id] of Object.entries(swapped)) {
      await expect(
        assignConnections(merchant.id, { ...NONE, [name]: id }, ACTOR),
      ).rejects.toMatchObject({ code: 'invalid_input', message: expect.stringContaining('key to') })
    }
    const matching = { receiving_id: receiving, paying_id: paying }
    expect(await assignConnections(merchant.id, matching, ACTOR)).toEqual(matching)
  })

  test('keeps a connection whose last check failed while the other one changes', async () => {
    const failing = await addConnection(new StubBank())
    await assignConnections(merchant.id, { ...NONE, receiving_id: failing }, ACTOR)
    const data = { checkCode: 'rejected' }
    await db().connection.update({ where: { id: failing }, data })
    const changed = { receiving_id: failing, paying_id: green }
    expect(await assignConnections(merchant.id, changed, ACTOR)).toEqual(changed)
  })
})

describe('closing', () => {
  test('takes the connection from all accounts, and leaves them their other one', async () => {
    const id = await addConnection(new StubBank())
    const other = await makeMerchant()
    await assignConnections(merchant.id, { receiving_id: id, paying_id: id }, ACTOR)
    await assignConnections(other.id, { receiving_id: blue, paying_id: id }, ACTOR)
    expect(await closeConnection(id, ACTOR)).toBe(2)
    expect(await readAssigned()).toEqual(NONE)
    expect(await readAssigned(other.id)).toEqual({ receiving_id: blue, paying_id: null })
    expect((await recordsOf(merchant.id)).at(-1)).toEqual([
      { receives_through: id, pays_through: id },
      { receives_through: null, pays_through: null },
    ])
    expect((await recordsOf(other.id)).at(-1)).toEqual([
      { pays_through: id },
      { pays_through: null },
    ])
    expect(await db().auditRecord.findMany({ where: { target: id } })).toMatchObject([
      { action: 'connection.disabled', after: { accounts: 2 } },
    ])
  })

  test('is refused for a connection that is closed already', async () => {
    const id = await addConnection(new StubBank())
    await closeConnection(id, ACTOR)
    await expect(closeConnection(id, ACTOR)).rejects.toMatchObject({ code: 'already_final' })
  })

  test('and assigning at the same time never leave a closed connection assigned', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await addConnection(new StubBank())
      const accounts = await Promise.all([makeMerchant(), makeMerchant(), makeMerchant()])
      await assignConnections(accounts[0].id, { receiving_id: id, paying_id: id }, ACTOR)
      const assign = accounts.map(account =>
        assignConnections(account.id, { ...NONE, paying_id: id }, ACTOR),
      )
      const [closed, ...assigned] = await Promise.allSettled([
        closeConnection(id, ACTOR),
        ...assign,
      ])
      expect(closed.status).toBe('fulfilled')
      for (const outcome of assigned)
        if (outcome.status === 'rejected') expect(outcome.reason.code).toBe('invalid_input')
      const where = { OR: [{ receivingConnectionId: id }, { payingConnectionId: id }] }
      expect(await db().account.count({ where })).toBe(0)
    }
  })
})
