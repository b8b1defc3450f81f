import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { newId } from '#lib/core/ids.ts'
import { env } from '#lib/core/settings.ts'
import { db } from '#lib/db/client.ts'
import { loadRoutes } from '#lib/http/routes.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { runAsOwner } from '#lib/testing/database.ts'
import { createPaidCharge } from '#lib/testing/deliveries.ts'
import {
  CHARGE,
  expectBalancedLedger,
  fundMerchant,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  openCharge,
} from '#lib/testing/fixtures.ts'
import { WITHDRAWAL } from '#lib/testing/lists.ts'
import { OPERATIONS } from '#lib/testing/route-table.ts'

inOwnDatabase()

interface Attempt {
  path: string
  body: object
  key: string
}

let merchant: Account
let token: string
let survivor: ApiProcess
beforeAll(async () => {
  merchant = await makeMerchant()
  await fundMerchant(merchant, 1_000_000)
  token = await makeToken(merchant.id)
  survivor = await startProcess()
})
afterAll(async () => {
  await expectBalancedLedger(merchant.id)
  await survivor.close()
})

/** Counts the processes that others see: PostgreSQL notices a moment later that one has ended. */
async function countSeen(): Promise<number> {
  const [row] = await db().$queryRaw<{ count: number }[]>`
    SELECT count(*)::integer AS count FROM pg_locks JOIN pg_database d ON d.oid = database
    WHERE datname = current_database() AND locktype = 'advisory' AND mode = 'ShareLock'`
  return row?.count ?? 0
}

/** Starts a process, and waits until others see it. */
async function startProcess(): Promise<ApiProcess> {
  const before = await countSeen()
  const started = await startApiProcess({ DATABASE_URL: env().DATABASE_URL ?? '' })
  await vi.waitFor(async () => expect(await countSeen()).toBe(before + 1), 30_000)
  return started
}
const post = ({ url }: { url: string }, { path, body, key }: Attempt) =>
  call(url, 'POST', path, { token, body, key })
const isReplay = ({ headers }: ApiResponse) => headers.get('idempotent-replayed') === 'true'

async function create(path: string, body: object): Promise<string> {
  return (await post(survivor, { path, body, key: newId() })).body.data.id
}

/** Refunds of a charge of hold@ wait for a decision. */
async function payChargeOf(client_email: string): Promise<string> {
  const body = { ...CHARGE, client_email }
  const { data } = (await post(survivor, { path: '/transactions', body, key: newId() })).body
  await create(`/sandbox/transactions/${data.transaction_id}`, { outcome: 'paid' })
  return data.transaction_id
}

/** The operations whose response is stored after their effect; the others store both at once. */
async function prepareAttempts(): Promise<Attempt[]> {
  const ENDPOINT = { event_types: ['withdrawal.returned'] }
  const CHILD = { name: 'a', permissions: ['account:read'] }
  const [first, second] = [await openCharge(merchant), await openCharge(merchant)]
  const withdrawals = [
    await create('/withdrawals', WITHDRAWAL),
    await create('/withdrawals', WITHDRAWAL),
  ]
  const endpoints = await Promise.all(
    [8_001, 8_002, 8_003].map(port =>
      create('/webhooks/endpoints', { ...ENDPOINT, url: `http://127.0.0.1:${port}/` }),
    ),
  )
  await create(`/webhooks/endpoints/${endpoints[1]}/disable`, {})
  const child = await create('/tokens', CHILD)
  const disputed = await payChargeOf('ana@example.com')
  const dispute = await create(`/sandbox/transactions/${disputed}/disputes`, { amount: 100 })
  const refunded = await payChargeOf('hold@example.com')
  const refund = await create(`/transactions/${refunded}/refunds`, { amount: 100 })
  const subjectId = await createPaidCharge(merchant, 'http://127.0.0.1:9/hook')
  const delivery = await db().delivery.findFirstOrThrow({ where: { subjectId } })
  const attempts: [path: string, body: object][] = [
    [`/transactions/${first.id}/cancel`, {}],
    [`/sandbox/transactions/${second.id}`, { outcome: 'paid' }],
    [`/sandbox/withdrawals/${withdrawals[0]}`, { outcome: 'approved' }],
    [`/sandbox/withdrawals/${withdrawals[1]}`, { outcome: 'rejected', reason: 'closed' }],
    [`/sandbox/refunds/${refund}`, { outcome: 'rejected' }],
    [`/sandbox/transactions/${refunded}/disputes`, { amount: 100 }],
    [`/disputes/${dispute}/evidence`, { text: 'a' }],
    [`/sandbox/disputes/${dispute}`, { outcome: 'won' }],
    ['/sandbox/clock', { advance: '1s' }],
    ['/sandbox/webhooks', { fault: 'duplicate' }],
    [`/webhooks/endpoints/${endpoints[0]}/disable`, {}],
    [`/webhooks/endpoints/${endpoints[1]}/enable`, {}],
    [`/webhooks/endpoints/${endpoints[2]}/test`, { type: 'transaction.paid' }],
    [`/tokens/${child}/revoke`, {}],
    [`/webhooks/deliveries/${delivery.id}/resend`, {}],
    ['/webhooks/deliveries/resend', { from: '2026-11-20', to: '2026-11-21' }],
  ]
  return attempts.map(([path, body]) => ({ path, body, key: newId() }))
}

/** Receivers may get an event twice: a resumed request sends it at another time, or shows the controls as they are then. */
const isOfItsTime = ({ path }: Attempt) => /resend|test$|clock$|sandbox\/webhooks$/.test(path)

/** While `work` runs, no key of a request is completed or released, as if its process had died before. */
async function withHeldKeys(isEffectRefused: boolean, work: () => Promise<void>): Promise<void> {
  const tables = isEffectRefused ? ['audit_log', 'events', 'sandbox_controls'] : []
  await runAsOwner(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER hold BEFORE UPDATE OR DELETE ON idempotency_keys
      FOR EACH ROW EXECUTE FUNCTION hold();
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
      AS 'BEGIN RAISE EXCEPTION ''no effect''; END';
    ${tables.map(table => `CREATE TRIGGER refuse BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse();`).join('')}`)
  await work()
  await runAsOwner(`DROP FUNCTION hold CASCADE; DROP FUNCTION refuse CASCADE`)
}

/** Returns the number that the process stores in its keys: none until it has seen its own lock. */
async function findHolder(holder: ApiProcess): Promise<number | null> {
  const key = newId()
  const body = { from: '2026-11-20', to: '2026-11-21' }
  await withHeldKeys(false, async () => {
    await post(holder, { path: '/webhooks/deliveries/resend', body, key })
  })
  return (await db().idempotencyKey.findFirstOrThrow({ where: { key } })).lockedBy
}

test('the attempts are all operations of the API that store their whole response', async () => {
  const attempted = (await prepareAttempts()).map(({ path }) =>
    path.replace(/[\da-f-]{36}/, '[id]'),
  )
  const stored: string[] = []
  for (const { segments, handlers } of await loadRoutes()) {
    const path = `/${segments.join('/')}`
    const rule = handlers.get('POST')?.declared?.idempotency
    const isOfApi = OPERATIONS.some(one => one.method === 'POST' && one.path === path)
    if (isOfApi && rule && !rule.rebuild) stored.push(path)
  }
  expect([...new Set(attempted)].toSorted()).toEqual(stored.toSorted())
})

test.each([
  ['after its effect, before its response was stored', false],
  ['before its effect', true],
])(
  'a request whose process was killed %s is finished at once by another one',
  async (_, isBefore) => {
    const attempts = await prepareAttempts()
    const victim = await startProcess()
    await expect.poll(() => findHolder(victim)).not.toBeNull()
    const firstResponses: ApiResponse[] = []
    await withHeldKeys(isBefore, async () => {
      for (const attempt of attempts) firstResponses.push(await post(victim, attempt))
      await victim.close()
    })
    await expect.poll(countSeen, { timeout: 30_000 }).toBe(1)
    const isRefused = ({ path }: Attempt) => isBefore && !path.endsWith('/test')
    expect(firstResponses.map(({ status }) => status)).toEqual(
      attempts.map(attempt => (isRefused(attempt) ? 500 : 200)),
    )
    const locked = { key: { in: attempts.map(({ key }) => key) }, lockedUntil: { gt: new Date() } }
    expect(await db().idempotencyKey.count({ where: locked })).toBe(attempts.length)

    const events = () => db().event.count({ where: { accountId: merchant.id } })
    const eventsBefore = await events()
    const responses = await Promise.all(attempts.map(attempt => post(survivor, attempt)))
    expect(responses.map(({ status }) => status)).toEqual(attempts.map(() => 200))
    for (const [index, attempt] of attempts.entries())
      if (!isBefore && !isOfItsTime(attempt))
        expect(responses[index]?.text).toBe(firstResponses[index]?.text)
    expect(responses.filter(isReplay)).toEqual([])
    expect(await events()).toBe(eventsBefore + (isBefore ? 7 : 0))
    const again = await Promise.all(attempts.map(attempt => post(survivor, attempt)))
    expect(again.map(({ text }) => text)).toEqual(responses.map(({ text }) => text))
    expect(again.every(isReplay)).toBe(true)
    await expectBalancedLedger(merchant.id)
  },
)
