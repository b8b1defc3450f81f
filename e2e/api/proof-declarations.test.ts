import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { newId } from '#lib/core/ids.ts'
import { hashSecret } from '#lib/core/keys.ts'
import { env, supplyEnv } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { adminEndpoint, endpoint, userEndpoint } from '#lib/http/endpoint.ts'
import { loadRoutes, requireDeclaredMethod } from '#lib/http/routes.ts'
import { readSession } from '#lib/session/read.ts'
import { call } from '#lib/testing/call.ts'
import { type Api, expectBalancedLedger, startApi } from '#lib/testing/fixtures.ts'
import {
  pageHeaders,
  personHeaders,
  refusal,
  signIn,
  signInAdmin,
  signInWithoutAccount,
} from '#lib/testing/member.ts'
import { OPERATIONS, PAGE_OPERATIONS } from '#lib/testing/route-table.ts'
import { sampleOf } from '#lib/testing/sample.ts'
import { testInTorture } from '#lib/testing/torture.ts'
import { pickInTurn } from '#lib/testing/turn.ts'
import { giveChild, makeWorld, type World } from '#lib/testing/world.ts'

/** Repeated here, so that a route that stops requiring a proof is found. */
const REQUIRED = [
  'POST /withdrawals',
  'POST /transactions/[id]/refunds',
  'PATCH /dashboard/account',
  'PATCH /dashboard/account/approval',
  'POST /dashboard/account/approval/confirm',
  ...['approve', 'decline'].map(action => `POST /dashboard/withdrawals/[id]/${action}`),
  'GET /dashboard/audit/export',
  'GET /dashboard/charges/export',
  'POST /dashboard/charges/[id]/document',
  'POST /dashboard/invitations',
  'DELETE /dashboard/invitations/[id]',
  'PATCH /dashboard/members/[id]',
  'DELETE /dashboard/members/[id]',
  'POST /dashboard/members/leave',
  'POST /tokens',
  'PATCH /tokens/[id]',
  'POST /tokens/[id]/revoke',
  'POST /tokens/[id]/rotate',
  'POST /dashboard/tokens/[id]/adopt',
  'POST /webhooks/endpoints',
  'PATCH /webhooks/endpoints/[id]',
  'POST /webhooks/endpoints/[id]/rotate',
  'POST /dashboard/webhooks/deliveries/[id]/document',
  'GET /dashboard/webhooks/secret',
  'POST /dashboard/webhooks/secret/rotate',
  'POST /person/authenticator',
  'DELETE /person/authenticator',
  'POST /person/authenticator/confirm',
  'POST /person/openid',
  'POST /person/passkeys',
  'POST /person/passkeys/options',
  'DELETE /person/passkeys/[id]',
  'POST /admin/accounts/[id]/activate',
  'POST /admin/accounts/[id]/suspend',
  'PUT /admin/accounts/[id]/limits',
  'POST /admin/accounts/[id]/approval',
  'PUT /admin/accounts/[id]/connections',
  'POST /admin/accounts/[id]/write-offs',
  'POST /admin/accounts/status',
  'POST /admin/accounts/[id]/view',
  'POST /admin/people/[id]/password',
  'POST /admin/people/[id]/second-factor',
  'POST /admin/accounts/[id]/tokens/revoke',
  'POST /admin/accounts/[id]/tokens/[token_id]/revoke',
  'POST /admin/accounts/[id]/charges/[charge_id]/document',
  'POST /admin/accounts/[id]/disputes/[dispute_id]/answer',
  'POST /admin/orders/[id]/end',
  'POST /admin/orders/[id]/end/confirm',
  'GET /admin/audit/export',
  'POST /admin/banks',
  'POST /admin/banks/[id]/check',
  'POST /admin/banks/[id]/settings',
  'POST /admin/banks/[id]/notices',
  'PUT /admin/banks/[id]/credentials',
  ...[
    'PUT /admin/banks/[id]/limits',
    'POST /admin/banks/[id]/close',
    'POST /admin/banks/[id]/money-out',
  ],
  'POST /admin/banks/[id]/trial',
  'GET /admin/differences/export',
  'POST /admin/differences/[id]/resolve',
  'POST /admin/differences/[id]/corrections',
  'POST /admin/differences/[id]/corrections/[correction_id]/approve',
  'POST /admin/invitations',
  'DELETE /admin/invitations/[id]',
  'POST /admin/jobs/requeue',
]

/** Bodies other than those of the route table. */
const BODIES: Record<string, object> = {
  'PUT /admin/accounts/[id]/limits': { charge_max: 100_000 },
  'PATCH /webhooks/endpoints/[id]': { url: 'http://127.0.0.1:1025/elsewhere' },
}

/** Succeed without a change here: the account is active, and no job is stuck. */
const WITHOUT_EFFECT = [
  'PUT /admin/accounts/[id]/connections',
  'POST /admin/accounts/[id]/activate',
  'POST /admin/jobs/requeue',
  // The delivery of this test holds no document, so there is nothing to record.
  'POST /dashboard/webhooks/deliveries/[id]/document',
]

const PROOF_REQUIRED = [403, '{"error":"Confirm that it is you"}', 'proof_required']

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

/** Every operation that a signed-in user may call, from the declarations of the routes. */
const operations = (await loadRoutes()).flatMap(({ segments, handlers }) =>
  [...handlers]
    .filter(
      ([method, { accountlessDeclaration: access }]) =>
        method !== 'HEAD' && access?.audience !== 'visitor',
    )
    .map(([method, { accountlessDeclaration: access, declared }]) => {
      const path = `/${segments.join('/')}`
      const name = nameOf({ method, path })
      const row = [...OPERATIONS, ...PAGE_OPERATIONS].find(one => nameOf(one) === name)
      const sampleQuery = access?.query && (sampleOf(access.query) as Record<string, string>)
      return {
        name,
        method,
        path,
        audience: access?.audience ?? 'member',
        proof: (access ?? declared).proof,
        body: BODIES[name] ?? row?.body ?? (access?.body && sampleOf(access.body)),
        query: row?.query ?? (sampleQuery ? `?${new URLSearchParams(sampleQuery)}` : ''),
      }
    }),
)
type Operation = (typeof operations)[number]

const writes = operations.filter(({ method }) => method !== 'GET')
const required = operations.filter(({ name }) => REQUIRED.includes(name))
const exempt = writes.flatMap(one =>
  typeof one.proof === 'object' ? [{ ...one, reason: one.proof.notRequired }] : [],
)

let api: Api
let world: World
/** Ids of the world by the parameter or the folder in front of it. */
let ids: Record<string, string>
const { PUBLIC_URL } = env()
beforeAll(async () => {
  api = await startApi()
  supplyEnv({ PUBLIC_URL: 'https://pix.troco.test' })
  world = await makeWorld(api)
  const { merchant, paid, withdrawal } = world
  const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id)
  const create = async (path: string, body: object): Promise<string> =>
    (await call(api.url, 'POST', path, { headers, body })).body.data.id
  const endpoints = await create('/webhooks/endpoints', {
    url: 'http://127.0.0.1:1025/hook',
    event_types: '*',
  })
  const tokens = await create('/tokens', { name: 'Loja', permissions: ['account:read'] })
  const { id: token_id } = await db().token.findFirstOrThrow({
    where: { accountId: merchant.id, id: { notIn: [tokens, world.child] } },
  })
  const invitation = { email: 'ana@example.com', role: 'viewer' }
  const invitations = await create('/dashboard/invitations', invitation)
  const members = (await readSession(await signIn(merchant, 'finance')))?.id ?? ''
  const { id: deliveries } = await db().delivery.findFirstOrThrow({
    where: { accountId: merchant.id },
  })
  ids = {
    accounts: merchant.id,
    charges: paid,
    transactions: paid,
    withdrawals: withdrawal,
    endpoints,
    tokens,
    token_id,
    invitations,
    members,
    deliveries,
  }
})
afterAll(async () => {
  supplyEnv({ PUBLIC_URL })
  await expectBalancedLedger(world.merchant.id)
  await api.close()
})

async function openSession({ audience }: Operation): Promise<{ secret: string; userId: string }> {
  const secret =
    audience === 'member'
      ? await signIn(world.merchant, 'owner')
      : await (audience === 'admin' ? signInAdmin() : signInWithoutAccount())
  return { secret, userId: (await readSession(secret))?.id ?? '' }
}

const setProofAge = (secret: string, seconds: number) => db().$executeRaw`
  UPDATE user_sessions SET proved_at = now() - make_interval(secs => ${seconds})
  WHERE secret_hash = ${hashSecret(secret)}`

const pathOf = ({ path }: Operation, known = ids) =>
  path.replaceAll(
    /(\w+)\/\[(\w+)\]/g,
    (_, folder, name) => `${folder}/${known[name] ?? known[folder] ?? newId()}`,
  )

async function send(operation: Operation, secret: string) {
  const { method, audience, body, query } = operation
  const headers =
    audience === 'member' ? pageHeaders(secret, world.merchant.id) : personHeaders(secret)
  const hasBody = !['GET', 'DELETE'].includes(method)
  return call(api.url, method, pathOf(operation) + query, {
    headers,
    body: hasBody ? (body ?? {}) : undefined,
  })
}

/** Tables that a refused request writes, too: a session notes its last use. */
const WRITTEN_ANYWAY = ['user_sessions']

/** Returns the rows of the account and of the user, by table. */
async function readRows(userId: string): Promise<Record<string, string[]>> {
  const columns = await db().$queryRaw<{ table: string; conditions: string }[]>`
    SELECT c.table_name AS "table", string_agg(format('%I = ANY ($1::uuid[])', c.column_name), ' OR ') AS conditions
    FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.data_type = 'uuid'
      AND (c.column_name IN ('account_id', 'user_id', 'actor_id')
        OR c.column_name = 'id' AND c.table_name IN ('accounts', 'users'))
    GROUP BY c.table_name ORDER BY c.table_name`
  const rows: Record<string, string[]> = {}
  for (const { table, conditions } of columns) {
    if (WRITTEN_ANYWAY.includes(table)) continue
    const query = `SELECT t::text AS row FROM ${table} t WHERE ${conditions} ORDER BY row`
    const found = await db().$queryRawUnsafe<{ row: string }[]>(query, [world.merchant.id, userId])
    rows[table] = found.map(({ row }) => row)
  }
  return rows
}

test('every write states that it requires a proof or, in a sentence, why not', () => {
  const declared = operations.filter(({ proof }) => proof === 'required').map(({ name }) => name)
  expect(declared.toSorted()).toEqual(REQUIRED.toSorted())
  for (const { name, proof } of writes) {
    const isReason = typeof proof === 'object' && /^[A-Z].{14,}\.$/.test(proof.notRequired)
    expect(proof === 'required' || isReason, name).toBe(true)
  }
})

test('a write without such a statement does not compile, and one declared as a read does not start', () => {
  const declared = { summary: 'A write', response: z.object({}), handle: async () => ({}) }
  // @ts-expect-error: `proof` is missing
  userEndpoint({ method: 'POST', ...declared })
  // @ts-expect-error: `proof` is missing
  adminEndpoint({ method: 'DELETE', ...declared })
  // @ts-expect-error: `proof` is missing
  endpoint({ method: 'PATCH', allow: 'settings:write', ...declared })
  // @ts-expect-error: a read needs no reason
  userEndpoint({ method: 'GET', proof: { notRequired: 'It only reads.' }, ...declared })
  expect(() => requireDeclaredMethod('/account', 'POST', 'GET')).toThrow('its endpoint GET')
  expect(() => requireDeclaredMethod('/account', 'HEAD', 'GET')).not.toThrow()
})

describe('a session whose proof is older than five minutes', () => {
  test.each(pickInTurn(required))('is refused $name, and nothing changes', async operation => {
    const { secret, userId } = await openSession(operation)
    await setProofAge(secret, 301)
    const before = await readRows(userId)
    expect(refusal(await send(operation, secret))).toEqual(PROOF_REQUIRED)
    expect(await readRows(userId)).toEqual(before)
  })

  test.each(pickInTurn(exempt))('may call $name: $reason', async operation => {
    const { secret } = await openSession(operation)
    await setProofAge(secret, 301)
    // The proof is checked before the fields. With an empty body, a dispute would be opened about all that was paid.
    const response = await send({ ...operation, body: { amount: 0 } }, secret)
    expect(response.headers.get('x-error-code')).not.toBe('proof_required')
    expect([401, 403, 500]).not.toContain(response.status)
    // Undoes a deletion of the endpoint, which other operations need.
    const where = { accountId: world.merchant.id }
    await db().webhookEndpoint.updateMany({ where, data: { deletedAt: null } })
  })
})

test.each(pickInTurn(required.filter(({ name }) => OPERATIONS.some(one => nameOf(one) === name))))(
  'an API token needs no proof for $name',
  async operation => {
    const { method, body } = operation
    await giveChild(world, world.token)
    const path = pathOf(operation, { ...ids, tokens: world.child })
    const { status, text } = await call(api.url, method, path, { token: world.token, body })
    expect(status, text).toBe(200)
  },
)

/** The admin's operations come last: one suspends the account. */
const inOrder = required.toSorted((a, b) => b.audience.localeCompare(a.audience))

/** `permissions` has a role with a fresh proof succeed at each. */
testInTorture.each(inOrder)(
  'a proof of the last five minutes is enough for $name',
  async operation => {
    const { secret, userId } = await openSession(operation)
    await setProofAge(secret, 290)
    const before = await readRows(userId)
    const response = await send(operation, secret)
    expect(response.headers.get('x-error-code')).not.toBe('proof_required')
    expect([401, 403, 500], response.text).not.toContain(response.status)
    // The comparison of rows above would find what a success changes.
    const isChange = response.status === 200 && !WITHOUT_EFFECT.includes(operation.name)
    if (isChange) expect(await readRows(userId)).not.toEqual(before)
  },
)
