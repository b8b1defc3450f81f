import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { queueMail } from '#lib/mail/queue.ts'
import { STAFF_TASKS, type StaffTask, StaffTaskList, type StuckJob } from '#lib/operator/schema.ts'
import { HealthRead } from '#lib/operator/wire.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { connectBank, endSlots, fundLive, replaceBank } from '#lib/testing/connection.ts'
import { addEndpoint, createPaidCharge, deliveriesOf } from '#lib/testing/deliveries.ts'
import {
  type Api,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  openCharge,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, personHeaders, signInAdmin } from '#lib/testing/member.ts'
import {
  changeOrder,
  dropOrders,
  orderOf,
  sendDueRefunds,
  sendDueWithdrawals,
} from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

inOwnDatabase()

let api: Api
let merchant: Account
let headers: Record<string, string>
let connectionId: string
/** The charge that gave the balance. */
let fundedId: string
beforeAll(async () => {
  api = await startApi()
  merchant = await makeMerchant('Loja Parada')
  connectionId = await connectBank(new StubBank(), merchant)
  fundedId = await fundLive(merchant, 1_000_000)
  headers = personHeaders(await signInAdmin())
})
afterAll(() => api.close())

const requeue = (body: object) => call(api.url, 'POST', '/admin/jobs/requeue', { headers, body })
const findStuckJob = async (id: string): Promise<StuckJob | undefined> => {
  const { body } = await call(api.url, 'GET', '/admin/health', { headers })
  expectShape(HealthRead, body)
  return body.data.jobs.find((job: StuckJob) => job.id === id)
}
const listRequeueRecords = (id: string) =>
  db().auditRecord.findMany({ where: { target: id, action: 'job.requeued' } })

async function withdraw(): Promise<string> {
  const key = { pixKeyType: 'email', pixKey: 'ana@x.example', dictKey: 'ana@x.example' } as const
  return (await createWithdrawal(merchant.id, 'live', { amount: 1_000, ...key, connectionId })).id
}

const makeStuck = (id: string) => db().$executeRaw`
  UPDATE bank_orders SET created_at = now() - interval '16 minutes' WHERE id = ${id}::uuid`
const rowOf = orderOf
const send = (bank: StubBank) => {
  replaceBank(connectionId, bank)
  return sendDueWithdrawals()
}
const sendUntilNothingIsDue = async (bank: StubBank) => {
  while ((await send(bank)) > 0);
}

test('what waits for the staff is listed with a count each', async () => {
  await makeStuck(await withdraw())
  const { status, body } = await call(api.url, 'GET', '/admin/tasks', { headers })
  expect(status).toBe(200)
  expectShape(StaffTaskList, body)
  const names: string[] = body.data.map(({ name }: StaffTask) => name)
  expect(names).toEqual(STAFF_TASKS.filter(name => names.includes(name)))
  expect(names).not.toEqual([])
  await dropOrders()
})

describe('a withdrawal without a result', () => {
  test("is reported as stuck after 15 minutes, with the bank's last response", async () => {
    const id = await withdraw()
    const bank = new StubBank()
    bank.setScript(removeHyphens(id), { sends: ['lost before'] })
    await sendUntilNothingIsDue(bank)
    expect(await findStuckJob(id)).toBeUndefined()
    await makeStuck(id)
    expect(await findStuckJob(id)).toMatchObject({
      kind: 'withdrawal',
      account: { id: merchant.id, name: 'Loja Parada' },
      attempts: 1,
      is_held: false,
      can_run: true,
      problem: 'the connection broke',
      problem_code: 'call_reason',
      problem_params: { text: 'the connection broke' },
    })
    bank.isQuick = true
    // It is asked about, sent in another slot, and asked about again.
    await endSlots(connectionId)
    for (let times = 0; times < 3; times++) {
      await requeue({ kind: 'withdrawal', account_id: merchant.id, id })
      await sendUntilNothingIsDue(bank)
    }
    expect(await findStuckJob(id)).toBeUndefined()
  })

  test('is only made due: same id and attempts, with an audit record', async () => {
    const id = await withdraw()
    await db().$executeRaw`
      UPDATE bank_orders SET attempts = 7, due_at = now() + interval '5 minutes'
      WHERE id = ${id}::uuid`
    const before = await rowOf(id)
    const { status, body } = await requeue({ kind: 'withdrawal', account_id: merchant.id, id })
    expect([status, body]).toEqual([200, { data: { requeued: 1 } }])
    const { dueAt, ...after } = await rowOf(id)
    expect(after).toEqual({ ...before, dueAt: undefined })
    expect(dueAt?.getTime()).toBeLessThanOrEqual(Date.now())
    expect(await listRequeueRecords(id)).toMatchObject([
      { accountId: merchant.id, actorType: 'user', after: { kind: 'withdrawal', attempts: 7 } },
    ])
    await dropOrders()
  })

  test('is sent to the bank once, however often it is requeued concurrently', async () => {
    const id = await withdraw()
    const bank = new StubBank()
    bank.setScript(removeHyphens(id), { sends: ['lost after'] })
    await sendUntilNothingIsDue(bank)
    for (let round = 0; round < 5; round++) {
      const requests = Array.from({ length: 8 }, () =>
        requeue({ kind: 'withdrawal', account_id: merchant.id, id }),
      )
      const workers = Array.from({ length: 4 }, () => send(bank))
      const responses = await Promise.all(requests)
      await Promise.all(workers)
      for (const { status } of responses) expect([200, 404, 409]).toContain(status)
    }
    bank.settle()
    await expect
      .poll(async () => {
        await requeue({ kind: 'withdrawal', account_id: merchant.id, id })
        await send(bank)
        return (await rowOf(id)).state
      })
      .toBe('done')
    expect(bank.sentOrders.map(order => order.id)).toEqual([removeHyphens(id)])
    expect(bank.countDebits(removeHyphens(id))).toBe(1)
    await expectBalancedLedger(merchant.id)
  })

  test('is refused while a worker holds its lease', async () => {
    const id = await withdraw()
    const hold = (dueAt: Date) => changeOrder(id, { lease: newId(), dueAt, attempts: 5 })
    await hold(new Date(Date.now() + 20_000))
    const held = await rowOf(id)
    const { status, headers: responseHeaders } = await requeue({
      kind: 'withdrawal',
      account_id: merchant.id,
      id,
    })
    expect([status, responseHeaders.get('x-error-code')]).toEqual([409, 'under_way'])
    expect(await rowOf(id)).toEqual(held)
    expect(await findStuckJob(id)).toMatchObject({ is_held: true })
    expect((await requeue({ kind: 'withdrawal' })).body.data.requeued).toBe(0)
    await hold(new Date(Date.now() - 1_000))
    expect((await requeue({ kind: 'withdrawal', account_id: merchant.id, id })).status).toBe(200)
    expect((await rowOf(id)).lease).toBeNull()
    await dropOrders()
  })

  test('is requeued with all stuck withdrawals, with one record each; others do not change', async () => {
    const [first, second, fresh] = [await withdraw(), await withdraw(), await withdraw()]
    await makeStuck(first)
    await makeStuck(second)
    const { body } = await requeue({ kind: 'withdrawal' })
    expect(body.data.requeued).toBe(2)
    expect(await listRequeueRecords(first)).toHaveLength(1)
    expect(await listRequeueRecords(second)).toHaveLength(1)
    expect(await listRequeueRecords(fresh)).toHaveLength(0)
  })
})

test('a refund without a result is requeued and sent to the bank once', async () => {
  const { id } = await createRefund(merchant.id, 'live', fundedId, { amount: 700 })
  const bank = new StubBank()
  bank.setScript(removeHyphens(id), { sends: ['throws after'] })
  replaceBank(connectionId, bank)
  await sendDueRefunds()
  await db().$executeRaw`
    UPDATE bank_orders SET created_at = now() - interval '1 hour' WHERE id = ${id}::uuid`
  expect(await findStuckJob(id)).toMatchObject({ kind: 'refund', problem: 'ECONNRESET' })
  bank.settle()
  for (let count = 0; count < 3; count++) {
    await requeue({ kind: 'refund', account_id: merchant.id, id })
    await sendDueRefunds()
  }
  expect(bank.sentOrders).toHaveLength(1)
  expect((await db().refund.findFirstOrThrow({ where: { id } })).status).toBe('completed')
  expect((await requeue({ kind: 'refund', account_id: merchant.id, id })).status).toBe(404)
  await expectBalancedLedger(merchant.id)
})

test('a charge claimed again and again is reported as stuck and can be requeued', async () => {
  const { id } = await openCharge(merchant)
  const set = (attempts: number) => db().$executeRaw`
    UPDATE charges SET attempts = ${attempts}::int, due_at = now() - interval '1 minute'
    WHERE id = ${id}::uuid`
  await set(4)
  expect(await findStuckJob(id)).toBeUndefined()
  await set(5)
  expect(await findStuckJob(id)).toMatchObject({ kind: 'charge', attempts: 5 })
  expect((await requeue({ kind: 'charge' })).body.data.requeued).toBe(1)
  await db().$executeRaw`UPDATE charges SET attempts = 0 WHERE id = ${id}::uuid`
})

test('a charge that a request is opening at the bank cannot be requeued', async () => {
  const [{ id: templateId }, id] = [await openCharge(merchant), newId()]
  await db().$executeRaw`
    INSERT INTO charges (account_id, id, mode, status, amount, external_id, txid, client_name,
      client_email, client_doc, expires_at, due_at)
    SELECT account_id, ${id}::uuid, mode, 'opening', amount, ${id}, ${removeHyphens(id)}, client_name,
      client_email, client_doc, expires_at, now() + interval '60 seconds'
    FROM charges WHERE id = ${templateId}::uuid`
  const run = () => requeue({ kind: 'charge', account_id: merchant.id, id })
  expect((await run()).status).toBe(409)
  await db().$executeRaw`UPDATE charges SET due_at = now() WHERE id = ${id}::uuid`
  expect((await run()).status).toBe(200)
  await db().charge.deleteMany({ where: { accountId: merchant.id, id } })
})

test('an exhausted delivery is retried from the start, unless its endpoint is disabled', async () => {
  const endpoint = await addEndpoint(merchant, 'http://127.0.0.1:9/hook')
  await createPaidCharge(merchant)
  const [row] = (await deliveriesOf(merchant)).filter(
    ({ endpointId }) => endpointId === endpoint.id,
  )
  const id = row?.id ?? ''
  await db().delivery.updateMany({
    where: { id },
    data: { status: 'exhausted', dueAt: null, attempts: 4 },
  })
  expect(await findStuckJob(id)).toMatchObject({ kind: 'delivery', attempts: 4, due_at: null })
  const disable = (disabledAt: Date | null) =>
    db().webhookEndpoint.updateMany({ where: { id: endpoint.id }, data: { disabledAt } })
  await disable(new Date())
  expect(await findStuckJob(id)).toMatchObject({ can_run: false })
  expect((await requeue({ kind: 'delivery', account_id: merchant.id, id })).status).toBe(409)
  await disable(null)
  expect((await requeue({ kind: 'delivery' })).body.data.requeued).toBe(1)
  const [requeued] = (await deliveriesOf(merchant)).filter(delivery => delivery.id === id)
  expect(requeued).toMatchObject({ status: 'pending', attemptsBefore: 4, dueAt: expect.any(Date) })
  expect(await listRequeueRecords(id)).toHaveLength(1)
})

test('a mail waiting for its next attempt is sent now; a mail given up cannot be requeued', async () => {
  const to = { email: 'ana@troco.example', locale: null }
  await db().$transaction(tx => queueMail(tx, to, { kind: 'passwordReset', path: '/x' }))
  const { id } = await db().mail.findFirstOrThrow()
  const set = (data: object) => db().mail.update({ where: { id }, data })
  await set({ attempts: 6, dueAt: new Date(Date.now() + 3_600_000) })
  expect(await findStuckJob(id)).toMatchObject({ kind: 'mail', account: null, can_run: true })
  expect((await requeue({ kind: 'mail', id })).status).toBe(200)
  expect((await set({})).dueAt?.getTime()).toBeLessThanOrEqual(Date.now())
  // A worker is sending the mail: a requeued mail would be sent twice.
  await set({ dueAt: new Date(Date.now() + 60_000), lease: newId() })
  expect((await requeue({ kind: 'mail', id })).status).toBe(409)
  await set({ dueAt: null, lease: null, failedAt: new Date(), sealed: new Uint8Array() })
  expect(await findStuckJob(id)).toMatchObject({ can_run: false })
  expect((await requeue({ kind: 'mail', id })).status).toBe(404)
  expect((await requeue({ kind: 'mail' })).body.data.requeued).toBe(0)
  await db().mail.deleteMany()
})

test.each([
  [{}, ['kind']],
  [{ kind: 'thing' }, ['kind']],
  [{ kind: 'withdrawal', id: newId() }, ['account_id']],
  [{ kind: 'withdrawal', id: 'x', account_id: newId() }, ['id']],
  [{ kind: 'withdrawal', account_id: newId() }, ['id']],
])('an invalid request is refused with the field: %o', async (body, fields) => {
  const response = await requeue(body)
  expect([response.status, Object.keys(response.body.errors ?? {})]).toEqual([422, fields])
})

test.each(['withdrawal', 'refund', 'charge', 'delivery'])(
  'a %s that is unknown or of another account returns 404',
  async kind => {
    const id = await withdraw()
    for (const account_id of [newId(), merchant.id]) {
      const { status } = await requeue({ kind, account_id, id: newId() })
      expect(status).toBe(404)
    }
    const { status } = await requeue({ kind: 'withdrawal', account_id: newId(), id })
    expect(status).toBe(404)
  },
)
