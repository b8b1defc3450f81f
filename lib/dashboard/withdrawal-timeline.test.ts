import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import type { Gateway, GatewayResult, OrderState } from '#lib/banks/gateway.ts'
import { withJournal } from '#lib/banks/record-call.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import type { WithdrawalTimelineData } from '#lib/dashboard/schema.ts'
import { readWithdrawalTimeline, WithdrawalTimelineRead } from '#lib/dashboard/timeline.ts'
import { db, Prisma } from '#lib/db/client.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { withOwner } from '#lib/testing/database.ts'
import {
  type Api,
  expectBalancedLedger,
  fundMerchant,
  makeMerchant,
  startApi,
} from '#lib/testing/fixtures.ts'
import { expectShape, pageHeaders, signIn } from '#lib/testing/member.ts'
import { changeOrder } from '#lib/testing/orders.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'
import { approveWithdrawal, rejectWithdrawal } from '#lib/withdrawals/outcome.ts'
import { simulateWithdrawal } from '#lib/withdrawals/simulate.ts'

const KEY = {
  pixKeyType: 'email',
  pixKey: 'HOLD@example.com',
  dictKey: 'hold@example.com',
} as const

let api: Api
let merchant: Account
let secret: string
let id: string
beforeAll(async () => {
  api = await startApi()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  secret = await signIn(merchant, 'viewer')
  await fundMerchant(merchant, 10_000)
  const order = { ...KEY, amount: 3_000, externalId: 'payout-1' }
  id = (await createWithdrawal(merchant.id, 'test', order)).id
})
afterAll(() => api.close())

const requestTimeline = (withdrawalId: string) =>
  call(api.url, 'GET', `/dashboard/withdrawals/${withdrawalId}/timeline`, {
    headers: pageHeaders(secret, merchant.id),
  })
const listSteps = ({ steps }: WithdrawalTimelineData) => steps.map(({ what }) => what)

test('a rejected withdrawal shows its hold and return with the balance after each', async () => {
  await simulateWithdrawal(merchant.id, id, { outcome: 'rejected', reason: 'closed' })
  const { status, body } = await requestTimeline(id)
  expect(status).toBe(200)
  expectShape(WithdrawalTimelineRead, body)
  const { data } = body
  expect(data.dict_key).toBe('hold@example.com')
  expect(data.withdrawal).toMatchObject({ id, status: 'rejected', pix_key: 'HOLD@example.com' })
  expect(listSteps(data)).toEqual(['requested', 'held', 'sent', 'rejected', 'returned'])
  expect(data.steps).toMatchObject([
    { at: data.withdrawal.created_at },
    { balance_after: 7_000 },
    {},
    { reason: 'closed', at: data.withdrawal.rejected_at },
    { balance_after: 10_000 },
  ])
  await expectBalancedLedger(merchant.id)
})

test('a rejection has a code with parameters, or the text of a member at the simulated bank', async () => {
  const rejectionOf = async (withdrawalId: string) => {
    const { steps } = await readWithdrawalTimeline(merchant.id, 'test', withdrawalId, newId())
    return steps.find(({ what }) => what === 'rejected')
  }
  await simulateWithdrawal(merchant.id, id, { outcome: 'rejected' })
  expect(await rejectionOf(id)).toMatchObject({
    reason: 'Rejected at the simulated bank',
    rejection_code: 'simulated',
    rejection_params: {},
  })
  const otherWithdrawal = await createWithdrawal(merchant.id, 'test', { ...KEY, amount: 1_000 })
  await simulateWithdrawal(merchant.id, otherWithdrawal.id, {
    outcome: 'rejected',
    reason: 'closed',
  })
  expect(await rejectionOf(otherWithdrawal.id)).toMatchObject({
    reason: 'closed',
    rejection_code: 'other',
    rejection_params: { text: 'closed' },
  })
  const old = { rejectionCode: null, rejectionParams: Prisma.DbNull }
  const where = { accountId_id: { accountId: merchant.id, id: otherWithdrawal.id } }
  await db().withdrawal.update({ where, data: old })
  expect(await rejectionOf(otherWithdrawal.id)).toMatchObject({
    rejection_params: { text: 'closed' },
  })
})

test("webhook attempts are listed with status or problem, and without the URL's secrets", async () => {
  await simulateWithdrawal(merchant.id, id, { outcome: 'approved' })
  const event = await db().event.findFirstOrThrow({ where: { subjectId: id } })
  const url = 'https://shop.example:8443/hooks?key=hidden'
  const delivery = { accountId: merchant.id, id: newId(), mode: 'test', host: 'shop.example' }
  const data = {
    ...delivery,
    eventId: event.id,
    subjectId: id,
    sequence: event.sequence,
    url,
    status: 'delivered',
    deliveredAt: new Date(),
  }
  await withOwner(owner => owner.delivery.create({ data }))
  const attempt = { accountId: merchant.id, deliveryId: delivery.id, requestHeaders: {} }
  await db().deliveryAttempt.createMany({
    data: [
      { ...attempt, number: 1, problem: 'timeout', durationMs: 15_000, createdAt: new Date(1) },
      { ...attempt, number: 2, responseStatus: 204, durationMs: 12 },
    ],
  })
  const { body } = await requestTimeline(id)
  expectShape(WithdrawalTimelineRead, body)
  expect(listSteps(body.data)).toEqual(['requested', 'held', 'sent', 'approved', 'told', 'told'])
  expect(body.data.steps.slice(-2)).toMatchObject([
    { host: 'shop.example', number: 1, response_status: null, problem: 'timeout' },
    { host: 'shop.example', number: 2, response_status: 204, problem: null },
  ])
  expect(body.data.steps.slice(-2)).toMatchObject([
    { problem_code: 'other', problem_params: { text: 'timeout' } },
    { problem_code: null, problem_params: null },
  ])
  expect(JSON.stringify(body)).not.toContain('hidden')
  await expectBalancedLedger(merchant.id)
})

test('calls to a real bank come from the journal, and repeated results are one entry', async () => {
  const results: GatewayResult<OrderState>[] = [
    { outcome: 'unknown', reason: 'no response in time' },
    { outcome: 'ok', value: { state: 'taken' } },
    { outcome: 'ok', value: { state: 'taken' } },
    { outcome: 'ok', value: { state: 'done', endToEndId: `E${'0'.repeat(31)}` } },
  ]
  const nextResult = async () => results.shift() as GatewayResult<OrderState>
  const bank: Gateway = {
    ...simulator,
    name: 'bank',
    local: undefined,
    sendPayout: nextResult,
    getPayout: nextResult,
  }
  const subject = { accountId: merchant.id, id, mode: 'test' } as const
  const calls = withJournal(bank, [{ ...subject, connectionId: SIMULATOR_CONNECTION_ID }])
  const order = { id: removeHyphens(id), amount: 3_000, dictKey: KEY.dictKey, ownerDoc: null }
  await calls.sendPayout(order)
  for (let times = 0; times < 3; times++) await calls.getPayout(order)
  const { body } = await requestTimeline(id)
  expectShape(WithdrawalTimelineRead, body)
  expect(body.data.steps.slice(2)).toMatchObject([
    {
      what: 'call',
      operation: 'sendPayout',
      outcome: 'unknown',
      said: null,
      times: 1,
    },
    { what: 'call', operation: 'getPayout', outcome: 'ok', said: 'taken', times: 2 },
    { what: 'call', operation: 'getPayout', outcome: 'ok', said: 'done', times: 1 },
  ])
  const [, mergedCall] = body.data.steps.slice(2)
  expect(mergedCall.last_at > mergedCall.at).toBe(true)
})

test('the receiver is shown as the bank names it, once it has', async () => {
  expect((await requestTimeline(id)).body.data.payee).toBeNull()
  const payee = { name: 'Ana Beatriz Rocha', maskedDoc: '***.982.247-**', bank: null }
  const payment = { endToEndId: `E${removeHyphens(id).slice(1)}`, payee }
  await approveWithdrawal({ accountId: merchant.id, withdrawalId: id, ...payment })
  const { body } = await requestTimeline(id)
  expectShape(WithdrawalTimelineRead, body)
  const { name, maskedDoc: masked_doc, bank } = payee
  expect(body.data.payee).toEqual({ name, masked_doc, bank })
})

test('no text of a bank reaches the merchant', async () => {
  const bankText = 'Titular CPF 529.982.247-25 sem contrato'
  const results: GatewayResult<OrderState>[] = [
    { outcome: 'retryable', reason: bankText },
    { outcome: 'unknown', reason: bankText },
    { outcome: 'rejected', code: 'denied', params: {}, bankText },
    { outcome: 'ok', value: { state: 'refused', code: 'above_limit', params: {}, bankText } },
  ]
  const nextResult = async () => results.shift() as GatewayResult<OrderState>
  const bank = Object.assign(new StubBank(), { sendPayout: nextResult })
  const subject = { accountId: merchant.id, id, mode: 'test' } as const
  const calls = withJournal(bank, [{ ...subject, connectionId: newId() }])
  const order = { id: removeHyphens(id), amount: 3_000, dictKey: KEY.dictKey, ownerDoc: null }
  while (results.length > 0) await calls.sendPayout(order)
  const reason = { code: 'above_limit', params: {}, bankText } as const
  await rejectWithdrawal({ accountId: merchant.id, withdrawalId: id, reason })
  const { body } = await requestTimeline(id)
  expectShape(WithdrawalTimelineRead, body)
  expect(body.data.steps.slice(2, 6)).toMatchObject([
    { outcome: 'retryable', said: null, rejection_code: null },
    { outcome: 'unknown', said: null, rejection_code: null },
    { outcome: 'rejected', said: null, rejection_code: 'denied' },
    { outcome: 'ok', said: 'refused', rejection_code: null },
  ])
  expect(body.data.withdrawal.rejection_reason).toBe('The amount is above a limit of the bank')
  const events = await db().event.findMany({ where: { subjectId: id } })
  expect(events.map(({ type }) => type)).toEqual(['withdrawal.rejected'])
  const resources = events.map(({ resource }) => resource)
  expect(JSON.stringify([body, resources])).not.toContain('sem contrato')
  const stored = await db().withdrawal.findFirstOrThrow({ where: { id } })
  expect(stored.bankText).toBe(bankText)
})

test('repeated queries of the simulator are not shown', async () => {
  const read = () => readWithdrawalTimeline(merchant.id, 'test', 'payout-1', newId())
  const { steps } = await read()
  await changeOrder(id, { attempts: 4 })
  expect((await read()).steps).toEqual(steps)
})

test.each(['live', 'another merchant', 'nothing'])(
  'a timeline returns withdrawal_not_found for %s',
  async whose => {
    const missing = { code: 'withdrawal_not_found' }
    const mode = whose === 'live' ? 'live' : 'test'
    const account = whose === 'another merchant' ? (await makeMerchant()).id : merchant.id
    const withdrawalId = whose === 'nothing' ? newId() : id
    await expect(
      readWithdrawalTimeline(account, mode, withdrawalId, newId()),
    ).rejects.toMatchObject(missing)
  },
)
