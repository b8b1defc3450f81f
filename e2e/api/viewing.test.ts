import { afterAll, beforeAll, expect, test } from 'vitest'
import { listAudit } from '#lib/audit/queries.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'
import {
  type Api,
  CANARY,
  CHARGE,
  expectBalancedLedger,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { mailsTo } from '#lib/testing/mailbox.ts'
import { pageHeaders, personHeaders, refusal, signIn, signInAdmin } from '#lib/testing/member.ts'
import { OPERATIONS, PAGE_OPERATIONS } from '#lib/testing/route-table.ts'
import { makeWorld, resolvePath, type World } from '#lib/testing/world.ts'

const READ_ONLY = [
  403,
  '{"error":"Staff views this account: nothing can be changed, exported or revealed"}',
  'viewing_read_only',
]
/** Reads that show a secret or save a file. */
const REFUSED_READS = [
  'GET /dashboard/charges/export',
  'GET /dashboard/statement/export',
  'GET /dashboard/audit/export',
  'GET /dashboard/webhooks/secret',
  ...['charges', 'withdrawals'].map(kind => `GET /dashboard/${kind}/[id]/receipt`),
]

let api: Api
let world: World
let admin: string
beforeAll(async () => {
  api = await startApi()
  world = await makeWorld(api, `cli-${CANARY.document}`)
  admin = await signInAdmin()
})
afterAll(() => api.close())

const view = (accountId: string, body: object = { reason: 'ticket 12' }) =>
  call(api.url, 'POST', `/admin/accounts/${accountId}/view`, {
    headers: personHeaders(admin),
    body,
  })
const endView = () => call(api.url, 'DELETE', '/person/viewing', { headers: personHeaders(admin) })
const readHome = async (accountId: string) =>
  (await call(api.url, 'GET', '/dashboard/home', { headers: pageHeaders(admin, accountId) })).status
const listActions = async ({ id: accountId }: { id: string }) => {
  const page = await listAudit({ staff: false, accountId }, { action: 'account.*', limit: 50 })
  return page.rows.filter(({ action }) => action.startsWith('account.viewing_'))
}
const setSession = async (data: object) =>
  db().userSession.update({ where: { secretHash: hashSecret(admin) }, data })

/** Adds an endpoint with the document in its address. */
async function addEndpoint(accountId: string): Promise<string> {
  const headers = pageHeaders(await signIn(world.merchant, 'owner'), accountId)
  const body = { url: `https://a.example/${CANARY.document}`, event_types: '*' }
  const made = await call(api.url, 'POST', '/webhooks/endpoints', { headers, body })
  return made.body.data.id
}

test('staff that views an account reads it without documents, and changes, exports and reveals nothing', async () => {
  const key = { pix_key: CANARY.document, pix_key_type: 'cpf', owner_doc: CANARY.formattedDocument }
  const body = { amount: 1_000, ...key }
  const sent = await call(api.url, 'POST', '/withdrawals', { token: world.token, body })
  const payout = sent.body.data.id
  const numbers = { metadata: { cpf: Number(CANARY.document), [CANARY.formattedDocument]: 1 } }
  await call(api.url, 'POST', '/transactions', {
    token: world.token,
    body: { ...CHARGE, ...numbers },
  })
  const endpoint = await addEndpoint(world.merchant.id)
  const where = { accountId: world.merchant.id }
  const delivery = (await db().delivery.findFirstOrThrow({ where })).id
  expect((await view(world.merchant.id)).status).toBe(200)
  const headers = pageHeaders(admin, world.merchant.id)
  const before = await db().auditRecord.count({ where: { accountId: world.merchant.id } })
  const reads: string[] = []
  for (const { method, path, body, query = '', isEndless } of [...OPERATIONS, ...PAGE_OPERATIONS]) {
    const name = `${method} ${path}`
    const url = resolvePath(world, path) + (method === 'GET' ? query : '')
    if (method !== 'GET' || REFUSED_READS.includes(name)) {
      expect(refusal(await call(api.url, method, url, { headers, body })), name).toEqual(READ_ONLY)
      continue
    }
    if (isEndless) continue
    const urls = [
      url,
      url.replace(world.withdrawal, payout).replace(world.endpoint, endpoint),
      url.replace(world.delivery, delivery),
    ]
    for (const response of await Promise.all(
      urls.map(one => call(api.url, method, one, { headers })),
    )) {
      expect([200, 403, 404], name).toContain(response.status)
      expect(response.text, name).not.toContain(CANARY.document)
      expect(response.text, name).not.toContain(CANARY.formattedDocument)
      expect(response.text, name).not.toMatch(/whsec_|troco_(test|live)_\w{10}/)
      if (response.status === 200) reads.push(name)
    }
  }
  const expected = [
    'GET /withdrawals',
    'GET /withdrawals/[id]',
    'GET /transactions',
    'GET /events',
    'GET /webhooks/deliveries/[id]',
    'GET /webhooks/endpoints/[id]',
    ...['home', 'find', 'charges/[id]/timeline'].map(path => `GET /dashboard/${path}`),
  ]
  expect(reads).toEqual(expect.arrayContaining(expected))
  // A search would confirm the guess of a masked key.
  const found = await call(api.url, 'GET', `/withdrawals?q=${CANARY.document}`, { headers })
  expect(found.body.data).toEqual([])
  expect(await db().auditRecord.count({ where: { accountId: world.merchant.id } })).toBe(before)
  await expectBalancedLedger(world.merchant.id)
  await endView()
})

test('what staff sees masked is found by none of its digits, and the rest of a reference is', async () => {
  const { token, merchant } = world
  const reference = `cli-${CANARY.document}`
  const charge = { ...CHARGE, external_id: reference, client_name: `Maria ${CANARY.document}` }
  const payout = { amount: 1_000, pix_key: 'ana@example.com', external_id: reference }
  for (const [path, body] of [
    ['/transactions', charge] as const,
    ['/withdrawals', payout] as const,
  ])
    expect((await call(api.url, 'POST', path, { token, body })).status).toBeLessThan(300)
  const owner = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  expect((await view(merchant.id)).status).toBe(200)
  const staff = pageHeaders(admin, merchant.id)
  const lists = ['/transactions', '/dashboard/charges', '/dashboard/find', '/withdrawals']
  const find = async (headers: object, list: string, q: string) => {
    const path = `${list}?${new URLSearchParams({ q })}`
    const { status, body } = await call(api.url, 'GET', path, { headers: { ...headers } })
    expect(status).toBe(200)
    return body.data.length > 0
  }
  const digits = [4, 7, 10, 11].map(length => CANARY.document.slice(0, length))
  for (const list of lists) {
    expect(await find(owner, list, reference), list).toBe(true)
    expect(await find(staff, list, 'cli-'), list).toBe(true)
    for (const q of [...digits, `cli-${CANARY.document.slice(0, 5)}`, reference])
      expect(await find(staff, list, q), `${list} ${q}`).toBe(false)
  }
  expect(await find(staff, '/transactions', 'maria')).toBe(true)
  const totals = `/dashboard/charges/totals?q=${CANARY.document.slice(0, 6)}`
  expect((await call(api.url, 'GET', totals, { headers: staff })).body.count).toBe(0)
  for (const path of ['/transactions', '/withdrawals']) {
    const one = `${path}/${reference}`
    expect((await call(api.url, 'GET', one, { headers: owner })).status).toBe(200)
    expect((await call(api.url, 'GET', one, { headers: staff })).status).toBe(404)
    const filtered = await call(api.url, 'GET', `${path}?external_id=${reference}`, {
      headers: staff,
    })
    expect(filtered.body.data).toEqual([])
  }
  await endView()
})

test('viewing needs a reason, is for one account and session, and ends at the latest by time', async () => {
  const [first, second] = await Promise.all([makeMerchant(), makeMerchant()])
  for (const body of [{}, { reason: 'x' }]) expect((await view(first.id, body)).status).toBe(422)
  expect((await view('none')).status).toBe(404)
  expect(await readHome(first.id)).toBe(401)

  expect((await view(first.id)).status).toBe(200)
  expect([await readHome(first.id), await readHome(second.id)]).toEqual([200, 401])
  expect((await view(second.id)).status).toBe(200)
  expect([await readHome(first.id), await readHome(second.id)]).toEqual([401, 200])
  expect((await endView()).status).toBe(200)
  expect((await endView()).status).toBe(200)
  expect(await readHome(second.id)).toBe(401)

  await view(second.id)
  const { viewingUntil } = await setSession({})
  const minutes = ((viewingUntil?.getTime() ?? 0) - Date.now()) / 60_000
  expect(minutes).toBeLessThanOrEqual(30)
  await setSession({ viewingUntil: new Date(Date.now() - 1) })
  expect(await readHome(second.id)).toBe(401)

  await view(second.id)
  const { userId } = await setSession({})
  await db().user.update({ where: { id: userId }, data: { isAdmin: false } })
  expect(await readHome(second.id)).toBe(401)
  await db().user.update({ where: { id: userId }, data: { isAdmin: true } })
  await endView()
})

test('the owner is mailed and finds each viewing with its reason, but not which admin it was', async () => {
  const merchant = await makeMerchant()
  const owner = await db().membership.findFirstOrThrow({
    where: { accountId: merchant.id },
    include: { user: true },
  })
  await view(merchant.id, { reason: 'asked by phone' })
  await endView()
  const lines = await listActions(merchant)
  const operator = { kind: 'operator', id: null, name: null, email: null }
  expect(lines).toMatchObject([
    { action: 'account.viewing_ended', actor: operator },
    { action: 'account.viewing_begun', actor: operator, reason: 'asked by phone' },
  ])
  const mails = await mailsTo(owner.user.email)
  expect(mails).toHaveLength(1)
  expect(mails[0]?.text).toContain('asked by phone')
})
