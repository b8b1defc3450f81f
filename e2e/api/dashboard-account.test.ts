import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { assignConnections, readLiveRequest } from '#lib/accounts/connections.ts'
import type { Account } from '#lib/accounts/schema.ts'
import { AccountSettings } from '#lib/accounts/schema.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { db } from '#lib/db/client.ts'
import { listAccountLines } from '#lib/operator/accounts.ts'
import { listStaffTasks } from '#lib/operator/health.ts'
import { Profile } from '#lib/people/schema.ts'
import { readSession } from '#lib/session/read.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { type Api, CHARGE, makeMerchant, makeToken, startApi } from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, refusal, signIn } from '#lib/testing/member.ts'

const SETTINGS = {
  name: 'Pão & Companhia',
  city: 'São Luís',
  expires_in: 3_600,
  time_zone: 'America/Fortaleza',
  charge_review_above: 500_000,
}

let api: Api
let secondProcess: ApiProcess
let merchant: Account
let secret: string
beforeAll(async () => {
  api = await startApi()
  secondProcess = await startApiProcess()
})
beforeEach(async () => {
  merchant = await makeMerchant('Loja antiga')
  secret = await signIn(merchant, 'owner')
})
afterAll(async () => {
  await secondProcess.close()
  await api.close()
})

const patch = (
  resource: 'account' | 'profile',
  body: unknown,
  mode = 'test',
  callerSecret = secret,
) =>
  call(api.url, 'PATCH', `/dashboard/${resource}`, {
    headers: pageHeaders(callerSecret, merchant.id, mode),
    body,
  })
const listAuditRecords = () =>
  db().auditRecord.findMany({
    where: { accountId: merchant.id, action: 'account.updated' },
    orderBy: { createdAt: 'asc' },
  })

describe('PATCH account', () => {
  test('200: stores the settings, shows them in the session and audits old and new values', async () => {
    const { status, body } = await patch('account', SETTINGS)
    const unset = { repeats_external_ids: false, shop_url: null, cnpj: null }
    const data = { id: merchant.id, ...SETTINGS, ...unset }
    expect([status, body.data]).toEqual([200, data])
    expectShape(AccountSettings, body)
    const [account] = (await readSession(secret))?.accounts ?? []
    const { name, city, expires_in: expiresIn, time_zone: timeZone } = SETTINGS
    const stored = { name, city, expiresIn, timeZone, chargeReviewAbove: 500_000 }
    expect(account).toMatchObject(stored)
    const before = {
      name: 'Loja antiga',
      city: 'BRASILIA',
      expires_in: 86_400,
      time_zone: 'America/Sao_Paulo',
      charge_review_above: null,
    }
    expect(await listAuditRecords()).toMatchObject([{ actorType: 'user', before, after: SETTINGS }])
    await patch('account', SETTINGS)
    expect(await listAuditRecords()).toHaveLength(1)
    await patch('account', { ...SETTINGS, city: 'Recife' })
    const last = (await listAuditRecords()).at(-1)
    expect([last?.before, last?.after]).toEqual([{ city: 'São Luís' }, { city: 'Recife' }])
  })

  test('new settings apply to the next charge in every process; a pending charge keeps its code', async () => {
    const token = await makeToken(merchant.id)
    const create = async (url: string) =>
      (await call(url, 'POST', '/transactions', { token, body: CHARGE })).body.data
    const read = async (id: string) =>
      (await call(api.url, 'GET', `/transactions/${id}`, { token })).body.data
    const pending = await create(api.url)
    for (const url of [api.url, api.url, secondProcess.url, secondProcess.url]) await create(url)
    await patch('account', SETTINGS)
    for (const url of [secondProcess.url, api.url, secondProcess.url]) {
      const { br_code, transaction_id } = await create(url)
      const code = { merchantName: 'Pao & Companhia', merchantCity: 'Sao Luis' }
      expect(parseBrCode(br_code)).toMatchObject({ ok: true, code })
      const { created_at, expires_at } = await read(transaction_id)
      expect(Date.parse(expires_at) - Date.parse(created_at)).toBe(3_600_000)
    }
    expect((await read(pending.transaction_id)).br_code).toBe(pending.br_code)
  })

  test('the shop address and the CNPJ are stored without punctuation, and removed', async () => {
    const details = { shop_url: 'https://loja.example/obrigado', cnpj: '12.ABC.345/01DE-35' }
    const stored = { ...details, cnpj: '12ABC34501DE35' }
    expect((await patch('account', { ...SETTINGS, ...details })).body.data).toMatchObject(stored)
    const none = { shop_url: null, cnpj: null }
    expect((await patch('account', { ...SETTINGS, ...none })).body.data).toMatchObject(none)
    expect((await listAuditRecords()).at(-1)).toMatchObject({ before: stored, after: none })
  })

  const zoneMessage = 'time_zone must be a time zone such as America/Sao_Paulo'
  const urlMessage = 'shop_url must be an http or https address'
  const httpsMessage = 'shop_url must be an https address'
  const secondsMessage = 'expires_in must be a whole number of seconds from 60 to 2592000'
  const reviewMessage = 'charge_review_above must be a whole number of cents from 0 to 999999999999'
  test.each([
    [{ name: '日本' }, { name: ['name must contain a letter or digit'] }],
    [{ name: 'a\nb' }, { name: ['name must contain no line breaks or control characters'] }],
    [{ name: 'x'.repeat(101) }, { name: ['name must have 1 to 100 characters'] }],
    [{ city: 'Pindamonhangaba1' }, { city: ['city must have 1 to 15 characters'] }],
    [{ expires_in: 59 }, { expires_in: [secondsMessage] }],
    [{ expires_in: 2_592_001 }, { expires_in: [secondsMessage] }],
    [{ charge_review_above: -1 }, { charge_review_above: [reviewMessage] }],
    [{ charge_review_above: 1_000_000_000_000 }, { charge_review_above: [reviewMessage] }],
    [{ charge_review_above: 0.5 }, { charge_review_above: [reviewMessage] }],
    [{ charge_review_above: '5000' }, { charge_review_above: [reviewMessage] }],
    [{ time_zone: 'America/Atlantis' }, { time_zone: [zoneMessage] }],
    [{ time_zone: "UTC'; --" }, { time_zone: [zoneMessage] }],
    [{ shop_url: 'http://loja.example' }, { shop_url: ['shop_url must be an https address'] }],
    [{ shop_url: 'javascript:alert(1)' }, { shop_url: [urlMessage, httpsMessage] }],
    [{ cnpj: '11.222.333/0001-82' }, { cnpj: ['cnpj must be a CNPJ with valid check digits'] }],
    [{ cnpj: '529.982.247-25' }, { cnpj: ['cnpj must be a CNPJ with valid check digits'] }],
  ])('422 names the invalid field in %j', async (invalid, errors) => {
    const response = await patch('account', { ...SETTINGS, ...invalid })
    expect([response.status, response.body]).toEqual([422, { errors }])
    expect(await listAuditRecords()).toEqual([])
  })

  test('PostgreSQL knows every time zone that the interface offers', async () => {
    const names = Intl.supportedValuesOf('timeZone')
    const unknown = await db().$queryRaw<{ name: string }[]>`
      SELECT name FROM unnest(${names}::text[]) name
      WHERE name NOT IN (SELECT z.name FROM pg_timezone_names z)`
    expect(unknown).toEqual([])
  })

  test('403 unless the caller is an owner; live mode changes the same settings', async () => {
    const viewer = await signIn(merchant, 'viewer')
    const refused = await patch('account', SETTINGS, 'test', viewer)
    const text = '{"error":"Permission denied: settings:write"}'
    expect(refusal(refused)).toEqual([403, text, 'permission_denied'])
    expect((await patch('account', SETTINGS, 'live')).status).toBe(200)
  })
})

describe('PATCH profile', () => {
  test('200 for any member, and only for their own profile', async () => {
    const viewer = await signIn(merchant, 'viewer')
    const change = { full_name: 'Ana', locale: 'en', theme: 'dark' }
    const { status, body } = await patch('profile', change, 'test', viewer)
    expect([status, body.data]).toMatchObject([200, change])
    expectShape(Profile, body)
    expect(await readSession(viewer)).toMatchObject({ name: 'Ana', locale: 'en', theme: 'dark' })
    expect(await readSession(secret)).toMatchObject({ locale: null, theme: null })
    const [record] = await db().auditRecord.findMany({ where: { target: body.data.id } })
    expect(record).toMatchObject({ action: 'user.updated', after: { name: 'Ana' } })
    await patch('profile', { theme: 'light' }, 'live', viewer)
    expect(await readSession(viewer)).toMatchObject({ name: 'Ana', locale: 'en', theme: 'light' })
  })

  test.each([
    [{ locale: 'de' }, { locale: ['locale must be pt-BR or en'] }],
    [{ theme: 'pink' }, { theme: ['theme must be light, dark or system'] }],
    [
      { full_name: 'a\u0007b' },
      { full_name: ['full_name must contain no line breaks or control characters'] },
    ],
  ])('422 names the invalid field in %j', async (body, errors) => {
    const response = await patch('profile', body)
    expect([response.status, response.body]).toEqual([422, { errors }])
  })
})

describe('POST account/live', () => {
  const ask = (callerSecret = secret) =>
    call(api.url, 'POST', '/dashboard/account/live', {
      headers: pageHeaders(callerSecret, merchant.id, 'live'),
    })
  const listRequests = () =>
    db().auditRecord.count({
      where: { accountId: merchant.id, action: 'account.live_requested' },
    })

  test('200: the request waits for the staff, once, until a connection is assigned', async () => {
    const { count: before = 0 } = (await listStaffTasks()).find(({ name }) => name === 'live') ?? {}
    for (const _ of [1, 2]) {
      const { status, body } = await ask()
      expect([status, body.data]).toEqual([200, { requested: true }])
    }
    expect(await listRequests()).toBe(1)
    expect((await readLiveRequest(merchant.id))?.getTime()).toBeLessThanOrEqual(Date.now())
    const item = (await listStaffTasks()).find(({ name }) => name === 'live')
    expect(item).toEqual({ name: 'live', count: before + 1, level: 'warning' })
    const filter = { status: 'live_requested', q: merchant.id } as const
    expect((await listAccountLines(filter)).rows).toMatchObject([{ id: merchant.id }])

    const id = await addConnection(new StubBank())
    const assigned = { receiving_id: id, paying_id: id }
    expect(await assignConnections(merchant.id, assigned, { type: 'system' })).toEqual(assigned)
    expect(await readLiveRequest(merchant.id)).toBeNull()
    expect((await listAccountLines(filter)).rows).toEqual([])
    expect((await ask()).status).toBe(200)
    expect([await readLiveRequest(merchant.id), await listRequests()]).toEqual([null, 1])
  })

  test('403 for a member who is no owner', async () => {
    const { status } = await ask(await signIn(merchant, 'finance'))
    expect([status, await listRequests()]).toEqual([403, 0])
  })
})
