import { Client } from 'pg'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { closeConnection } from '#lib/accounts/connections.ts'
import {
  addConnection,
  checkConnection,
  findConnection,
  listConnections,
  renewCredentials,
} from '#lib/banks/connections.ts'
import type { Gateway, GatewayResult } from '#lib/banks/gateway.ts'
import type { NewConnection } from '#lib/banks/schema.ts'
import { gatewayOfConnection, registerAdapter } from '#lib/banks/served.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { seal, unseal } from '#lib/core/keys.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { REFUSAL, StubBank } from '#lib/testing/bank.ts'
import {
  assignConnection,
  openLiveCharge,
  replaceBank,
  restConnection,
} from '#lib/testing/connection.ts'
import { ownerUrlOf } from '#lib/testing/database.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { CLIENT, StandardBank } from '#lib/testing/standard-bank.ts'
import { untilLocked } from '#lib/testing/waiting.ts'

inOwnDatabase()

const ACTOR = { type: 'command_line' } as const
const KEY = '123E4567-e12b-12d1-a456-426655440000'
const request = (changes: Partial<NewConnection> = {}): NewConnection => ({
  name: newId(),
  kind: 'efi',
  environment: 'production',
  receiving_keys: ['Pix@Example.com', KEY],
  paying_key: '+55 11 98765-4321',
  ...changes,
})
const rowOf = (id: string) => db().connection.findUniqueOrThrow({ where: { id } })
const recordsOf = (target: string) =>
  db().auditRecord.findMany({ where: { target }, orderBy: { id: 'asc' } })

// These connections have no credentials.
beforeAll(() => registerAdapter('efi', () => null))
beforeEach(async () => {
  await db().account.updateMany({
    data: { receivingConnectionId: null, payingConnectionId: null },
  })
  await db().connection.updateMany({
    where: { kind: { not: 'simulator' } },
    data: { disabledAt: new Date(), isAssignable: false },
  })
})

test('a check whose credentials are replaced while the bank is asked checks the new ones', async () => {
  registerAdapter('efi', ({ id, credentials }) => {
    const checkHealth: Gateway['checkHealth'] = async () => {
      if (credentials === 'new') return { outcome: 'ok', value: null }
      const sealedCredentials = seal('new', id, 'bank-credentials')
      await db().connection.update({ where: { id }, data: { sealedCredentials } })
      return { outcome: 'blocked', code: 'credentials', reason: 'invalid_client' }
    }
    return Object.assign(new StubBank(), { checkHealth })
  })
  const id = await addConnection(request({ credentials: 'old' }), ACTOR)
  expect((await checkConnection(id, ACTOR)).code).toBe('ok')
  expect((await rowOf(id)).checkCode).toBe('ok')
  registerAdapter('efi', () => null)
})

describe('adding a connection', () => {
  test('stores its keys in the form of the directory, and serves nobody yet', async () => {
    const name = `Banco Azul ${newId()}`
    const id = await addConnection(request({ name, profile: 'azul', settings: { a: 1 } }), ACTOR)
    expect(await rowOf(id)).toMatchObject({
      name,
      kind: 'efi',
      environment: 'production',
      profile: 'azul',
      settings: { a: 1 },
      receivingKeys: ['pix@example.com', KEY.toLowerCase()],
      payingKey: '+5511987654321',
      sealedCredentials: null,
      checkCode: null,
      isAssignable: true,
      disabledAt: null,
    })
    expect(await recordsOf(id)).toMatchObject([
      {
        action: 'connection.added',
        actorType: 'command_line',
        accountId: null,
        after: {
          name,
          kind: 'efi',
          environment: 'production',
          profile: 'azul',
          receiving_keys: ['p***@example.com', '123e4567-****-****-****-************'],
          paying_key: '+55 (11) *****-4321',
        },
      },
    ])
  })

  test('encrypts its credentials, and puts them in no record', async () => {
    registerAdapter('efi', () => null)
    const credentials = JSON.stringify({ client_secret: 'canary-of-the-bank' })
    const id = await addConnection(request({ credentials }), ACTOR)
    const { sealedCredentials } = await rowOf(id)
    expect(Buffer.from(sealedCredentials ?? []).toString('latin1')).not.toContain('canary')
    expect(unseal(sealedCredentials ?? expect.unreachable(), id, 'bank-credentials')).toBe(
      credentials,
    )
    expect(JSON.stringify(await recordsOf(id))).not.toContain('canary')
  })

  test('for homologation cannot be assigned', async () => {
    const id = await addConnection(request({ environment: 'homologation' }), ACTOR)
    expect((await rowOf(id)).isAssignable).toBe(false)
  })

  test.each<[string, object]>([
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(61) }],
    ['kind', { kind: 'simulator' }],
    ['environment', { environment: 'live' }],
    ['settings', { settings: [] }],
    ['settings', { settings: { payouts_in_flight: 0 } }],
    ['settings', { settings: { payouts_in_flight: 1.5 } }],
    ['receiving_keys', { receiving_keys: ['nobody'] }],
    ['receiving_keys', { receiving_keys: [], paying_key: undefined }],
    ['paying_key', { paying_key: '1198765432' }],
    ['paying_key', { kind: 'api_pix' }],
  ])('is refused with a wrong %s: %j', async (field, changes) => {
    const error = await addConnection(request(changes), ACTOR).catch(reason => reason)
    expect(error).toMatchObject({ code: 'invalid_input', fields: { [field]: [expect.anything()] } })
    expect(error.message).toMatch(new RegExp(`^${field} must `))
  })

  test('is refused with a receiving key of another one, until that one is closed', async () => {
    const id = await addConnection(request({ name: `Banco ${newId()}` }), ACTOR)
    const { name } = await rowOf(id)
    const add = (changes: object) => addConnection(request(changes), ACTOR)
    const same = { receiving_keys: ['outra@example.com', 'PIX@example.com'] }
    await expect(add(same)).rejects.toMatchObject({
      code: 'invalid_input',
      message: `receiving_keys must not have a key of the connection ${name}, which is open: use another key, \`bank renew\` for new credentials, or \`bank close\` before`,
    })
    await add({ receiving_keys: ['outra@example.com'] })
    await add({ receiving_keys: [] })
    await add({ environment: 'homologation' })
    await closeConnection(id, ACTOR)
    await add({})
  })

  test('of several that are added with one key at once, one is', async () => {
    const names = Array.from({ length: 4 }, () => `Banco ${newId()}`)
    const receiving_keys = [`${newId()}@example.com`]
    const locker = new Client({ connectionString: ownerUrlOf(env().DATABASE_URL ?? '') })
    await locker.connect()
    await locker.query('BEGIN; LOCK TABLE audit_log IN SHARE MODE')
    const adding = Promise.allSettled(
      names.map(name => addConnection(request({ name, receiving_keys }), ACTOR)),
    )
    // Each has stored its row, and none has committed.
    await untilLocked(names.length)
    await locker.query('COMMIT')
    await locker.end()
    const added = await adding
    expect(added.map(({ status }) => status).toSorted()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ])
    expect(await db().connection.count({ where: { name: { in: names } } })).toBe(1)
  })

  test('is refused under a name that is taken', async () => {
    const { name } = await rowOf(await addConnection(request(), ACTOR))
    await expect(addConnection(request({ name }), ACTOR)).rejects.toMatchObject({
      message: 'name already belongs to another connection',
    })
  })
})

describe('a connection of the kind api_pix', () => {
  let azul: StandardBank
  beforeEach(async () => {
    azul = await new StandardBank().open()
  })
  afterEach(() => azul.close())
  const requestTo = (changes: object = {}): NewConnection => {
    const { kind, environment, profile, settings, credentials } = azul.connection()
    const bankParts = { kind, environment, profile, settings, credentials, paying_key: undefined }
    return request({ ...bankParts, ...changes })
  }

  test('is added with its credentials, passes its check and receives', async () => {
    const id = await addConnection(requestTo(), ACTOR)
    expect(await checkConnection(id, ACTOR)).toMatchObject({ code: 'ok' })
    const merchant = await makeMerchant()
    await assignConnection(id, merchant)
    const { id: chargeId, br_code } = await openLiveCharge(merchant)
    expect(br_code).toContain(`pix.example.test/qr/v2/${removeHyphens(chargeId)}`)
    const secrets = [CLIENT.client_secret, ...azul.tokens]
    const calls = JSON.stringify(await db().gatewayCall.findMany({ where: { connectionId: id } }))
    for (const secret of secrets) expect(calls).not.toContain(secret)
  })

  test('whose client the bank refuses is stored as blocked', async () => {
    const id = await addConnection(requestTo(), ACTOR)
    azul.tokenScript.push({ status: 401, body: { error: 'invalid_client' } })
    const { code, findings } = await checkConnection(id, ACTOR)
    expect([code, findings.at(-2)]).toEqual([
      'blocked',
      { code: 'token_refused', params: { reason: 'invalid_client' } },
    ])
  })

  test('goes on with new credentials, of which no record has a part', async () => {
    const id = await addConnection(requestTo(), ACTOR)
    expect(await checkConnection(id, ACTOR)).toMatchObject({ code: 'ok' })
    const { credentials } = azul.connection()
    const renewed = JSON.stringify({ ...JSON.parse(credentials), client_id: 'canary' })
    expect(await renewCredentials(id, renewed, ACTOR)).toMatchObject({ code: 'ok' })
    const row = await rowOf(id)
    expect(row.checkCode).toBe('ok')
    expect(unseal(row.sealedCredentials ?? expect.unreachable(), id, 'bank-credentials')).toBe(
      renewed,
    )
    await gatewayOfConnection(newId()).catch(() => {})
    azul.requests.length = 0
    expect(await checkConnection(id, ACTOR)).toMatchObject({ code: 'ok' })
    const basic = Buffer.from(`canary:${CLIENT.client_secret}`).toString('base64')
    expect(azul.requests[0]?.headers.authorization).toBe(`Basic ${basic}`)
    const records = await recordsOf(id)
    expect(records.map(({ action }) => action)).toContain('connection.renewed')
    expect(JSON.stringify(records)).not.toContain('canary')
  })

  test('keeps its credentials if the new ones cannot be used', async () => {
    const id = await addConnection(requestTo(), ACTOR)
    const { sealedCredentials } = await rowOf(id)
    await expect(renewCredentials(id, '{"client_id":"x"}', ACTOR)).rejects.toMatchObject({
      message: expect.stringMatching(/^credentials must have either p12/),
    })
    azul.tokenScript.push({ status: 401, body: { error: 'invalid_client' } })
    const { credentials } = azul.connection()
    expect(await renewCredentials(id, credentials, ACTOR)).toMatchObject({ code: 'blocked' })
    expect(await rowOf(id)).toMatchObject({ sealedCredentials, checkCode: null })
    await expect(renewCredentials(newId(), '{}', ACTOR)).rejects.toMatchObject({
      code: 'connection_not_found',
    })
  })

  test.each<[string, object]>([
    ['credentials', { credentials: undefined }],
    ['credentials', { credentials: '{"client_secret":"canary"}' }],
    ['profile', { profile: 'banco-azul' }],
    ['settings', { settings: {} }],
  ])('is not added where its %s cannot be used', async (field, changes) => {
    const error = await addConnection(requestTo(changes), ACTOR).catch(reason => reason)
    expect(error).toMatchObject({ code: 'invalid_input' })
    expect(error.message).toMatch(new RegExp(`^${field} must `))
    expect(error.message).not.toContain('canary')
  })
})

describe('checking a connection', () => {
  let id: string
  let bank: StubBank
  beforeEach(async () => {
    id = await addConnection(request(), ACTOR)
    bank = new StubBank()
    replaceBank(id, bank)
  })
  const answer = (result: GatewayResult<null>) => {
    bank.checkHealth = async () => result
  }

  const PASSED = { code: 'ok', findings: [{ code: 'bank_answers', params: {} }] }

  test('stores that it passed, with a record', async () => {
    expect(await checkConnection(id, ACTOR)).toEqual(PASSED)
    expect(await rowOf(id)).toMatchObject({ checkCode: 'ok', checkedAt: expect.any(Date) })
    expect((await recordsOf(id)).slice(1)).toMatchObject([
      { action: 'connection.checked', after: { code: 'ok' } },
    ])
  })

  test.each<GatewayResult<null>>([
    { outcome: 'unknown', reason: 'no response' },
    { outcome: 'retryable', reason: 'down' },
  ])('keeps the result of before if the bank gives no answer: %j', async result => {
    answer(result)
    const params = { reason: 'reason' in result ? result.reason : '' }
    const noAnswer = { code: null, findings: [{ code: 'bank_silent', params }] }
    expect(await checkConnection(id, ACTOR)).toEqual(noAnswer)
    expect((await rowOf(id)).checkCode).toBeNull()
    answer({ outcome: 'ok', value: null })
    await checkConnection(id, ACTOR)
    answer(result)
    await checkConnection(id, ACTOR)
    expect((await rowOf(id)).checkCode).toBe('ok')
  })

  test('stores that the bank refused it', async () => {
    answer({ outcome: 'rejected', ...REFUSAL, bankText: 'The certificate was revoked' })
    const params = { reason: 'The certificate was revoked' }
    const refused = { code: 'rejected', findings: [{ code: 'bank_refuses', params }] }
    expect(await checkConnection(id, ACTOR)).toEqual(refused)
    expect((await rowOf(id)).checkCode).toBe('rejected')
  })

  test('calls the bank even while the connection rests, and leaves the rest as it is', async () => {
    await restConnection(id)
    const before = await db().connectionState.findUnique({ where: { connectionId: id } })
    answer({ outcome: 'unknown', reason: 'no response' })
    expect(await checkConnection(id, ACTOR)).toMatchObject({ code: null })
    answer({ outcome: 'ok', value: null })
    expect(await checkConnection(id, ACTOR)).toEqual(PASSED)
    const state = await db().connectionState.findUnique({ where: { connectionId: id } })
    expect(state).toEqual(before)
  })

  test('without an adapter is refused and stores nothing', async () => {
    registerAdapter('efi', () => null)
    await expect(checkConnection(id, ACTOR)).rejects.toMatchObject({ code: 'service_unavailable' })
    expect((await rowOf(id)).checkCode).toBeNull()
  })
})

test('connections are listed by name, each with its state', async () => {
  const prefix = newId()
  const add = (name: string, changes: Partial<NewConnection> = {}) =>
    addConnection(
      request({ name: `${prefix} ${name}`, receiving_keys: [newId()], ...changes }),
      ACTOR,
    )
  const ids = {
    passed: await add('a'),
    failed: await add('b', { paying_key: undefined }),
    unchecked: await add('c'),
    closed: await add('d'),
    unserved: await add('e', { paying_key: undefined }),
  }
  const bank = new StubBank()
  for (const name of ['passed', 'failed', 'unchecked', 'closed'] as const)
    replaceBank(ids[name], bank)
  await checkConnection(ids.passed, ACTOR)
  await checkConnection(ids.closed, ACTOR)
  bank.checkHealth = async () => ({ outcome: 'rejected', ...REFUSAL })
  await checkConnection(ids.failed, ACTOR)
  const closed = { disabledAt: new Date(), isAssignable: false }
  await db().connection.update({ where: { id: ids.closed }, data: closed })
  const listed = (await listConnections()).filter(({ name }) => name.startsWith(prefix))
  expect(listed.map(({ id, state, receives, pays }) => [id, state, receives, pays])).toEqual([
    [ids.passed, 'passed', true, true],
    [ids.failed, 'failed', true, false],
    [ids.unchecked, 'unchecked', true, true],
    [ids.closed, 'closed', true, true],
    [ids.unserved, 'unserved', true, false],
  ])
})

test('a connection is found by its id or name; the simulator is none', async () => {
  const name = `Banco Verde ${newId()}`
  const id = await addConnection(request({ name }), ACTOR)
  expect(await findConnection(id)).toEqual({ id, name })
  expect(await findConnection(name)).toEqual({ id, name })
  await expect(findConnection('simulator')).rejects.toMatchObject({ code: 'not_found' })
  await expect(findConnection(newId())).rejects.toMatchObject({ code: 'not_found' })
})
