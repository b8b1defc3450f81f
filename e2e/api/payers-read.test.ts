import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Account, Role } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { call } from '#lib/testing/call.ts'
import { CANARY } from '#lib/testing/canary.ts'
import {
  addEndpoint,
  deliverForMerchant,
  makeDeliverer,
  makeRetriesDue,
} from '#lib/testing/deliveries.ts'
import {
  type Api,
  CHARGE,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { openReceiver, type Receiver } from '#lib/testing/receiver.ts'
import { OPERATIONS, PAGE_OPERATIONS } from '#lib/testing/route-table.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { makeWorld, type World } from '#lib/testing/world.ts'
import { PERMISSIONS } from '#lib/tokens/schema.ts'

inOwnDatabase()

const MASKED = '***.982.247-**'
const ENDPOINTS = '/webhooks/endpoints'
const WITHOUT = PERMISSIONS.filter(name => name !== 'payers:read')

/** Returns whether a text contains the document, with or without punctuation. */
const isLeaked = (text: string) =>
  text.includes(CANARY.document) || text.includes(CANARY.formattedDocument)

const declarations = new Map(
  (await loadRoutes()).flatMap(({ segments, handlers }) =>
    [...handlers].map(([method, { declared }]) => [`${method} /${segments.join('/')}`, declared]),
  ),
)
const routeOf = (method: string, path: string) => declarations.get(`${method} ${path}`)

let api: Api
let receiver: Receiver
beforeAll(async () => {
  api = await startApi()
  receiver = await openReceiver()
})
afterAll(async () => {
  await receiver.close()
  await api.close()
})

async function actAs(merchant: Account, role: Role) {
  const headers = pageHeaders(await signIn(merchant, role), merchant.id)
  return (method: string, path: string, body?: object) =>
    call(api.url, method, path, { headers, body })
}

const pay = (token: string, id: string) =>
  call(api.url, 'POST', `/sandbox/transactions/${id}`, { token, body: { outcome: 'paid' } })

async function openPaidCharge(token: string, extra: object = {}): Promise<string> {
  const body = { ...CHARGE, ...extra }
  const { data } = (await call(api.url, 'POST', '/transactions', { token, body })).body
  await pay(token, data.transaction_id)
  return data.transaction_id
}

describe('no operation returns a full document', () => {
  let world: World
  let ids: Record<string, string>
  let maskedToken: string
  let fullToken: string
  beforeAll(async () => {
    world = await makeWorld(api)
    const { merchant, paid } = world
    maskedToken = await makeToken(merchant.id, { permissions: WITHOUT })
    fullToken = await makeToken(merchant.id)
    await addEndpoint(merchant, receiver.url)
    await openPaidCharge(world.token)
    await deliverForMerchant(merchant)
    const where = { accountId: merchant.id }
    const owner = await db().membership.findFirst({ where: { ...where, role: 'owner' } })
    ids = {
      charges: paid,
      transactions: paid,
      withdrawals: world.payout,
      refund_id: world.refund,
      evidence_id: world.evidence,
      requests: world.request,
      disputes: world.dispute,
      refunds: world.held,
      endpoints: (await db().webhookEndpoint.findFirstOrThrow({ where })).id,
      deliveries: (
        await db().delivery.findFirstOrThrow({
          where: { ...where, attempts: { gt: 0 }, NOT: { endpointId: null } },
        })
      ).id,
      tokens: (await db().token.findFirstOrThrow({ where, orderBy: { id: 'asc' } })).id,
      members: owner?.userId ?? newId(),
    }
  })

  const pathOf = (path: string) =>
    path.replaceAll(
      /(\w+)\/\[(\w+)\]/g,
      (_, folder, name) => `${folder}/${ids[name] ?? ids[folder] ?? newId()}`,
    )

  // A deletion returns only the id, and others need what it deletes. A test event has sample data.
  const kept = OPERATIONS.filter(
    ({ method, path }) => method !== 'DELETE' && !path.endsWith('/test'),
  )
  test.each(pickInTurn(kept))('$method $path for a token without payers:read', async row => {
    const { method, path, body, query = '' } = row
    const target = `${pathOf(path)}${query}`
    const { status, text } = await call(api.url, method, target, { token: maskedToken, body })
    expect(status, text).not.toBe(403)
    expect(isLeaked(text), text).toBe(false)
  })

  const operations = [...kept, ...PAGE_OPERATIONS].filter(
    ({ isEndless, endsMembership }) => !isEndless && !endsMembership,
  )
  test.each(pickInTurn(operations))('$method $path for a developer or viewer', async row => {
    const { method, path, body, query = '' } = row
    for (const role of ['developer', 'viewer'] as const) {
      const act = await actAs(world.merchant, role)
      const { status, text } = await act(method, `${pathOf(path)}${query}`, body)
      // The charge is paid: it has no image of a QR code any more.
      const allowed = path.includes('qr.') ? [409] : [200, 403]
      if (method === 'GET') expect(allowed, text).toContain(status)
      expect(isLeaked(text), `${role}: ${text}`).toBe(false)
    }
  })

  test('a token with payers:read, and the owner who reveals a delivery, get it', async () => {
    const { merchant } = world
    const token = fullToken
    for (const path of [`/transactions/${ids.charges}`, '/transactions', '/events'])
      expect(isLeaked((await call(api.url, 'GET', path, { token })).text), path).toBe(true)
    const owner = await actAs(merchant, 'owner')
    const { text } = await owner(
      'POST',
      `/dashboard/webhooks/deliveries/${ids.deliveries}/document`,
    )
    expect(isLeaked(text)).toBe(true)
  })

  test('a masked document is a string at the same place', async () => {
    const read = (path: string) => call(api.url, 'GET', path, { token: maskedToken })
    expect((await read(`/transactions/${ids.charges}`)).body.data.client_doc).toBe(MASKED)
    expect((await read('/transactions')).body.data[0].client_doc).toBe(MASKED)
    expect((await read('/events')).body.data[0].transaction.client_doc).toBe(MASKED)
  })

  test('a replay of a response that contained it is masked', async () => {
    const { merchant } = world
    const token = fullToken
    const body = { ...CHARGE }
    const { data } = (await call(api.url, 'POST', '/transactions', { token, body })).body
    const request = { key: newId(), body: { outcome: 'paid' } }
    const path = `/sandbox/transactions/${data.transaction_id}`
    const first = await call(api.url, 'POST', path, { ...request, token })
    expect([first.status, first.body.data.client_doc]).toEqual([200, CANARY.formattedDocument])
    const headers = pageHeaders(await signIn(merchant, 'developer'), merchant.id)
    for (const caller of [{ token: maskedToken }, { headers }]) {
      const replay = await call(api.url, 'POST', path, { ...request, ...caller })
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
      expect(replay.body).toEqual({
        ...first.body,
        data: { ...first.body.data, client_doc: MASKED },
      })
    }
  })

  describe('a key of the holder of a document, repeated by others', () => {
    const keyed = [...OPERATIONS, ...PAGE_OPERATIONS].filter(
      // A test event has sample data.
      ({ method, path }) => routeOf(method, path)?.idempotency && !path.endsWith('/test'),
    )
    let others: World
    let maskedToken: string
    beforeAll(async () => {
      others = await makeWorld(api)
      maskedToken = await makeToken(others.merchant.id, { permissions: WITHOUT })
    })
    const create = async (path: string, body: object) =>
      (await call(api.url, 'POST', path, { token: others.token, body })).body.data

    /** Resources on which the first request of an operation succeeds. */
    async function makeTarget(path: string): Promise<string> {
      const isPaid = /\/(refunds|disputes)$/.test(path)
      const charge = isPaid
        ? await openPaidCharge(others.token)
        : (await create('/transactions', CHARGE)).transaction_id
      const held = { amount: 1_000, pix_key: 'hold@example.com', owner_doc: CANARY.document }
      const made: Record<string, () => Promise<string>> = {
        transactions: async () => charge,
        charges: async () => charge,
        withdrawals: async () => (await create('/withdrawals', held)).id,
        refunds: async () => {
          const payer = { client_email: 'hold@example.com' }
          const of = await openPaidCharge(others.token, payer)
          return (await create(`/transactions/${of}/refunds`, { amount: 100 })).id
        },
        disputes: async () => {
          const of = await openPaidCharge(others.token)
          return (await create(`/sandbox/transactions/${of}/disputes`, { amount: 100 })).id
        },
        tokens: async () =>
          (await create('/tokens', { name: 'a', permissions: ['account:read'] })).id,
      }
      const folder = /(\w+)\/\[id\]/.exec(path)?.[1] ?? ''
      const known: Record<string, string> = {
        endpoints: others.endpoint,
        deliveries: others.delivery,
      }
      const id = (await made[folder]?.()) ?? known[folder] ?? newId()
      return path.replace('[id]', id)
    }

    test.each(keyed)('$method $path', async ({ method, path, body }) => {
      const target = await makeTarget(path)
      const isOfPages = path.startsWith('/dashboard/')
      const senderOf = async (role: Role) =>
        pageHeaders(await signIn(others.merchant, role), others.merchant.id)
      const holder = isOfPages ? { headers: await senderOf('owner') } : { token: others.token }
      const key = newId()
      const send = (caller: { token?: string; headers?: Record<string, string> }) => {
        const headers = { ...caller.headers, prefer: 'return=representation' }
        return call(api.url, method, target, { key, body, ...caller, headers })
      }
      const first = await send(holder)
      if (!isOfPages) expect(first.status, first.text).toBe(200)
      for (const caller of [{ token: maskedToken }, { headers: await senderOf('developer') }]) {
        const { status, text, headers } = await send(caller)
        expect(isLeaked(text), text).toBe(false)
        // Otherwise, the row would show nothing.
        const isForOthers = !isOfPages && status !== 403 && path !== '/transactions'
        if (isForOthers && routeOf(method, path)?.mask)
          expect(headers.get('idempotent-replayed'), text).toBe('true')
      }
      if (path !== '/dashboard/members/leave')
        expect(isLeaked((await send(holder)).text)).toBe(isLeaked(first.text))
    })
  })

  describe('a repeated Idempotency-Key', () => {
    const conflict = {
      'Idempotency-Key': [
        'was already used with a different body or by another caller: send a new key',
      ],
    }
    const create = (key: string, caller: object, client_doc = CANARY.formattedDocument) =>
      call(api.url, 'POST', '/transactions', { key, body: { ...CHARGE, client_doc }, ...caller })
    const senderOf = async (role: Role) => ({
      headers: pageHeaders(await signIn(world.merchant, role), world.merchant.id),
    })
    const isReplay = ({ headers }: Awaited<ReturnType<typeof call>>) =>
      headers.get('idempotent-replayed') === 'true'

    test('confirms no guess to a caller who may not read it, nor to a member without a record', async () => {
      const guesses = [CANARY.formattedDocument, '111.444.777-35']
      const probes = [
        { token: maskedToken },
        ...(await Promise.all((['owner', 'finance', 'developer'] as const).map(senderOf))),
      ]
      for (const first of [
        { token: fullToken },
        { token: await makeToken(world.merchant.id, { permissions: WITHOUT }) },
        await senderOf('owner'),
      ]) {
        const key = newId()
        expect((await create(key, first)).status).toBe(200)
        for (const probe of probes)
          for (const guess of guesses) {
            const { status, headers, text } = await create(key, probe, guess)
            expect([status, headers.get('x-error-code')]).toEqual([422, 'idempotency_key_reused'])
            expect(text).toContain(conflict['Idempotency-Key'][0])
          }
      }
    })

    test('confirms no guess while the first request runs', async () => {
      const key = newId()
      const running = Array.from({ length: 8 }, () => create(key, { token: fullToken }))
      const probes = Array.from({ length: 8 }, () => create(key, { token: maskedToken }))
      const responses = await Promise.all([...running, ...probes])
      const bySender = [responses.slice(0, 8), responses.slice(8)]
      const statuses = bySender.map(list => [...new Set(list.map(({ status }) => status))])
      expect(statuses.toSorted()).toEqual([[200], [422]])
    })

    test('replays the response to the same sender and to every token that may read it', async () => {
      const other = { token: await makeToken(world.merchant.id) }
      for (const [first, second] of [
        [{ token: fullToken }, other],
        [{ token: maskedToken }, { token: maskedToken }],
        ...(await Promise.all(
          (['owner', 'developer'] as const).map(async role => {
            const sender = await senderOf(role)
            return [sender, sender]
          }),
        )),
      ] as const) {
        const key = newId()
        const created = await create(key, first ?? {})
        const again = await create(key, second ?? {})
        expect([isReplay(created), isReplay(again), again.text]).toEqual([
          false,
          true,
          created.text,
        ])
      }
    })

    test('is guarded for every operation whose body contains a document', async () => {
      for (const { segments, handlers } of await loadRoutes())
        for (const [method, { declared }] of handlers) {
          if (!declared?.body) continue
          const json = JSON.stringify(
            z.toJSONSchema(declared.body.test, { unrepresentable: 'any', io: 'input' }),
          )
          const guarded = declared.idempotency?.hasDocument !== undefined
          expect(guarded, `${method} ${segments}`).toBe(/"(client|owner)_doc"/.test(json))
        }
    })
  })

  test('a search finds it only for callers who may read it', async () => {
    const { merchant } = world
    const token = fullToken
    const found = async (response: ReturnType<typeof call>) => {
      const { body } = await response
      return (body.data ?? body).count ?? body.data.length
    }
    for (const text of [CANARY.document, encodeURIComponent(CANARY.formattedDocument)]) {
      const path = `/transactions?q=${text}`
      expect(await found(call(api.url, 'GET', path, { token }))).toBeGreaterThan(0)
      expect(await found(call(api.url, 'GET', path, { token: maskedToken }))).toBe(0)
      for (const [role, finds] of [
        ['finance', true],
        ['developer', false],
      ] as const) {
        const act = await actAs(merchant, role)
        const paths = [path, `/dashboard/find?q=${text}`, `/dashboard/charges/totals?q=${text}`]
        for (const one of paths) expect((await found(act('GET', one))) > 0, one).toBe(finds)
        const csv = await act('GET', `/dashboard/charges/export?locale=en&q=${text}`)
        expect(csv.text.includes('Ana plain'), csv.text).toBe(finds)
      }
    }
  })
})

describe('a webhook', () => {
  let merchant: Account
  let shop: Receiver
  beforeAll(async () => {
    merchant = await makeMerchant()
    shop = await openReceiver()
  })
  afterAll(() => shop.close())

  /** Sends the events of a new charge. Returns the bodies that arrive at a URL. */
  async function collect(path: string, token: string, extra: object = {}) {
    await openPaidCharge(token, extra)
    await deliverForMerchant(merchant)
    const texts = shop.calls.filter(one => one.path === path).map(({ text }) => text)
    expect(texts).not.toEqual([])
    return texts.map(text => {
      const { transaction, client } = JSON.parse(text)
      return client ? [transaction.client_doc, client.doc] : [transaction.client_doc]
    })
  }

  test.each([
    ['with payers:read', PERMISSIONS, CANARY.formattedDocument],
    ['without', WITHOUT, MASKED],
  ])('of a charge created by a token %s', async (name, permissions, shown) => {
    const token = await makeToken(merchant.id, { permissions: [...permissions] })
    const path = `/${name.replaceAll(/\W/g, '-')}`
    expect(await collect(path, token, { webhook_url: `${shop.url}${path}` })).toEqual([[shown]])
  })

  test.each([
    ['owner', CANARY.formattedDocument],
    ['developer', MASKED],
  ] as const)('of a charge created by the role %s', async (role, shown) => {
    const act = await actAs(merchant, role)
    const webhook_url = `${shop.url}/by-${role}`
    const { data } = (await act('POST', '/transactions', { ...CHARGE, webhook_url })).body
    await pay(await makeToken(merchant.id), data.transaction_id)
    await deliverForMerchant(merchant)
    const [sent] = shop.calls.filter(({ path }) => path === `/by-${role}`)
    expect(JSON.parse(sent?.text ?? '').transaction.client_doc).toBe(shown)
  })

  test('to an endpoint is masked unless it was chosen in full', async () => {
    const token = await makeToken(merchant.id)
    const [owner, developer] = [await actAs(merchant, 'owner'), await actAs(merchant, 'developer')]
    const request = (path: string) => ({ url: `${shop.url}${path}`, event_types: '*' })
    const wanted = { ...request('/full'), full_documents: true }
    const full = (await owner('POST', ENDPOINTS, wanted)).body.data
    const masked = (await owner('POST', ENDPOINTS, request('/masked'))).body.data
    expect([full.full_documents, masked.full_documents]).toEqual([true, false])
    const doc = CANARY.formattedDocument
    expect(await collect('/full', token)).toEqual([[doc, doc]])
    expect(await collect('/masked', token)).toContainEqual([MASKED, MASKED])
    expect(shop.calls.filter(({ path, text }) => path === '/masked' && isLeaked(text))).toEqual([])

    const path = `${ENDPOINTS}/${masked.id}`
    const denied = [
      403,
      '{"error":"You may not grant permissions that you do not hold (payers:read): leave full_documents out or ask an owner"}',
      'permission_not_held',
    ]
    const wish = { full_documents: true }
    expect(refusal(await developer('PATCH', path, wish))).toEqual(denied)
    const created = await developer('POST', ENDPOINTS, { ...request('/x'), ...wish })
    expect(refusal(created)).toEqual(denied)
    expect((await owner('PATCH', path, wish)).body.data.full_documents).toBe(true)
    const types = { event_types: ['transaction.paid'], url: `${shop.url}/masked` }
    const unmoved = await developer('PATCH', path, types)
    expect(unmoved.body.data.full_documents).toBe(true)
    await owner('DELETE', path)
    await owner('DELETE', `${ENDPOINTS}/${full.id}`)
  })

  test('to an endpoint that a developer moves is masked, also if an attempt sent it in full', async () => {
    const other = await makeMerchant()
    const [owner, developer] = [await actAs(other, 'owner'), await actAs(other, 'developer')]
    const failing = await openReceiver((_, response) => response.writeHead(500).end())
    const request = { url: failing.url, event_types: '*', full_documents: true }
    const { id } = (await owner('POST', ENDPOINTS, request)).body.data
    await fundMerchant(other, 1_500)
    await deliverForMerchant(other)
    await failing.close()
    expect(isLeaked(failing.calls[0]?.text ?? '')).toBe(true)
    const stolen = await openReceiver()
    const moved = await developer('PATCH', `${ENDPOINTS}/${id}`, { url: stolen.url })
    expect(moved.body.data.full_documents).toBe(false)
    await makeRetriesDue()
    const deliverer = makeDeliverer()
    for (; stolen.calls.length === 0; await deliverer.idle()) await deliverer.run()
    await stolen.close()
    const [{ text } = { text: '' }] = stolen.calls
    expect([isLeaked(text), JSON.parse(text).client.doc]).toEqual([false, MASKED])
    const where = { accountId: other.id }
    const { id: delivery } = await db().delivery.findFirstOrThrow({ where })
    const revealed = `/dashboard/webhooks/deliveries/${delivery}/document`
    const seen = (await owner('POST', revealed)).body.data
    const bodies = seen.attempts.map(({ request_body }: { request_body: string }) => request_body)
    expect(bodies).toEqual([failing.calls[0]?.text, text])
    const audited = await db().auditRecord.findFirstOrThrow({
      where: { ...where, action: 'webhook_endpoint.edited' },
    })
    expect([audited.before, audited.after]).toMatchObject([
      { full_documents: true },
      { full_documents: false },
    ])
  })

  test('to the URL of a developer stays masked after an owner moved the endpoint back', async () => {
    const other = await makeMerchant()
    const [owner, developer] = [await actAs(other, 'owner'), await actAs(other, 'developer')]
    const types = { event_types: ['transaction.paid'], full_documents: true }
    const request = { url: `${shop.url}/moved-back`, ...types }
    const { id } = (await owner('POST', ENDPOINTS, request)).body.data
    const path = `${ENDPOINTS}/${id}`
    const stolen = await openReceiver()
    await developer('PATCH', path, { url: stolen.url })
    await developer('POST', `${path}/disable`, {})
    await fundMerchant(other, 1_500)
    const stopped = await developer('POST', `${path}/enable`, { send_missed: false })
    expect(stopped.body.missed).toBe(1)
    const back = { url: request.url, full_documents: true }
    expect((await owner('PATCH', path, back)).body.data.full_documents).toBe(true)
    const where = { accountId: other.id }
    const delivery = await db().delivery.findFirstOrThrow({ where })
    const resend = `/webhooks/deliveries/${delivery.id}/resend`
    expect((await developer('POST', resend, {})).status).toBe(200)
    await deliverForMerchant(other)
    await stolen.close()
    const sent = [...stolen.calls, ...shop.calls.filter(({ path }) => path === '/moved-back')]
    expect(sent).toHaveLength(1)
    expect(stolen.calls.filter(({ text }) => isLeaked(text))).toEqual([])
  })
})
