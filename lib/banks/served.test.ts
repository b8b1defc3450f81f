import { beforeEach, expect, test } from 'vitest'
import type { Connection, Gateway } from '#lib/banks/gateway.ts'
import {
  findFlaw,
  gatewayOfConnection,
  listBanks,
  listServed,
  registerAdapter,
  SIMULATOR_CONNECTION_ID,
  unregisterAdapters,
} from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { newId } from '#lib/core/ids.ts'
import { seal } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { inOwnDatabase } from '#lib/testing/fixtures.ts'

inOwnDatabase()

/** What the adapter was given, per gateway that it made. */
let opened: Connection[]
beforeEach(() => {
  opened = []
})
const openWith = (make: (connection: Connection) => Gateway | null) =>
  registerAdapter('efi', connection => {
    opened.push(connection)
    return make(connection)
  })
const isServed = async (id: string) => (await listServed()).some(served => served.id === id)
const change = (id: string, data: object) => db().connection.update({ where: { id }, data })
const REFUSED = { code: 'service_unavailable' }

test("test mode's connection is the simulator, which reads no table", async () => {
  expect(await gatewayOfConnection(SIMULATOR_CONNECTION_ID)).toBe(simulator)
  expect(await isServed(SIMULATOR_CONNECTION_ID)).toBe(true)
})

test('a connection added a moment ago is found at once', async () => {
  await listServed()
  const bank = new StubBank()
  const id = await addConnection(bank)
  expect(await gatewayOfConnection(id)).toBe(bank)
  expect(await isServed(id)).toBe(true)
})

test('without an adapter for its kind a connection serves nobody', async () => {
  const id = await addConnection(new StubBank(), { kind: 'api_pix' })
  await expect(gatewayOfConnection(id)).rejects.toMatchObject(REFUSED)
  expect(await isServed(id)).toBe(false)
  expect((await listBanks()).map(({ connection }) => connection.id)).toContain(id)
})

test('an adapter that fails or lacks something keeps no other connection from serving', async () => {
  const [broken, lacking, good] = [
    await addConnection(new StubBank()),
    await addConnection(new StubBank()),
    await addConnection(new StubBank()),
  ]
  openWith(({ id }) => {
    if (id === broken) throw new Error('no certificate')
    return id === lacking ? null : new StubBank()
  })
  await expect(gatewayOfConnection(broken)).rejects.toMatchObject(REFUSED)
  await expect(gatewayOfConnection(lacking)).rejects.toMatchObject(REFUSED)
  expect([await isServed(broken), await isServed(lacking)]).toEqual([false, false])
  expect(await isServed(good)).toBe(true)
  const flaw = 'its keys or credentials are not those that its adapter needs'
  expect(await Promise.all([broken, lacking, good].map(findFlaw))).toEqual([flaw, flaw, null])
})

test('a gateway that could not be opened is opened at a later reading, although its row is the same', async () => {
  const ids = [await addConnection(new StubBank()), await addConnection(new StubBank())]
  let isReady = false
  openWith(({ id }) => {
    if (isReady) return new StubBank()
    if (id === ids[0]) throw new Error('no certificate')
    return null
  })
  for (const id of ids) await expect(gatewayOfConnection(id)).rejects.toMatchObject(REFUSED)
  isReady = true
  // A name that no row has makes the table be read again.
  await expect(gatewayOfConnection(newId())).rejects.toMatchObject(REFUSED)
  for (const id of ids) expect(await isServed(id)).toBe(true)
})

test('a connection for homologation can be called, and has no charges or orders to serve', async () => {
  const bank = new StubBank()
  const id = await addConnection(bank, { environment: 'homologation', isAssignable: false })
  expect(await gatewayOfConnection(id)).toBe(bank)
  expect(await isServed(id)).toBe(false)
})

test('a closed connection goes on serving the charges and orders that it has', async () => {
  const bank = new StubBank()
  const id = await addConnection(bank, { disabledAt: new Date(), isAssignable: false })
  expect(await gatewayOfConnection(id)).toBe(bank)
  expect(await isServed(id)).toBe(true)
})

test('an adapter is opened once per row, and again with the new one after a change', async () => {
  const id = await addConnection(new StubBank())
  const sealed = seal('a client and its secret', id, 'bank-credentials')
  await change(id, { sealedCredentials: sealed, settings: { agency: '0001' }, profile: 'blue' })
  openWith(() => new StubBank())
  const first = await gatewayOfConnection(id)
  // A name that no row has makes the table be read again.
  await expect(gatewayOfConnection(newId())).rejects.toMatchObject(REFUSED)
  expect(await gatewayOfConnection(id)).toBe(first)
  await change(id, { checkedAt: new Date(), checkCode: 'ok' })
  await expect(gatewayOfConnection(newId())).rejects.toMatchObject(REFUSED)
  expect(await gatewayOfConnection(id)).toBe(first)
  const ofRow = () => opened.filter(connection => connection.id === id)
  expect(ofRow()).toEqual([
    {
      id,
      name: id,
      kind: 'efi',
      environment: 'production',
      profile: 'blue',
      settings: { agency: '0001' },
      credentials: 'a client and its secret',
      receivingKeys: ['pix@example.com'],
      payingKey: 'pix@example.com',
    },
  ])
  await change(id, { sealedCredentials: seal('a new secret', id, 'bank-credentials') })
  await expect(gatewayOfConnection(newId())).rejects.toMatchObject(REFUSED)
  expect(await gatewayOfConnection(id)).not.toBe(first)
  expect(
    ofRow()
      .map(({ credentials }) => credentials)
      .at(-1),
  ).toBe('a new secret')
})

test('credentials of another row cannot be read', async () => {
  const id = await addConnection(new StubBank())
  await change(id, { sealedCredentials: seal('a secret', newId(), 'bank-credentials') })
  openWith(() => new StubBank())
  await expect(gatewayOfConnection(id)).rejects.toMatchObject(REFUSED)
  expect(opened.filter(connection => connection.id === id)).toEqual([])
  expect(await findFlaw(id)).toContain('another TROCO_SECRET: set TROCO_SECRET_BEFORE')
})

test('an unregistered adapter no longer serves connections, not even those it has opened', async () => {
  const id = await addConnection(new StubBank())
  openWith(() => new StubBank())
  expect(await isServed(id)).toBe(true)
  unregisterAdapters()
  // The built-in one finds no credentials.
  expect(await isServed(id)).toBe(false)
})
