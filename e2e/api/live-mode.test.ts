import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { suspendAccount } from '#lib/accounts/settings.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId, removeHyphens } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type ApiProcess, startApiProcess } from '#lib/testing/api-process.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { type ApiResponse, call } from '#lib/testing/call.ts'
import { addConnection, assignConnection, connectBank, fundLive } from '#lib/testing/connection.ts'
import {
  type Api,
  CHARGE,
  expectBalancedLedger,
  inOwnDatabase,
  makeMerchant,
  makeToken,
  startApi,
} from '#lib/testing/fixtures.ts'
import { pageHeaders, refusal, signIn } from '#lib/testing/member.ts'
import { expireDueCharges, sendDueRefunds, sendDueWithdrawals } from '#lib/testing/orders.ts'
import { makePayment, paidState } from '#lib/testing/payments.ts'

inOwnDatabase()

const CLOSED = [403, '{"error":"Live mode is not enabled"}', 'live_mode_disabled']
const NO_PAYOUTS = [403, '{"error":"Withdrawals are not enabled"}', 'withdrawals_disabled']
const WITHDRAWAL = { amount: 1_000, pix_key: 'ana@example.com' }

let api: Api
let second: ApiProcess
let merchant: Account
let token: string
let bank: StubBank
beforeAll(async () => {
  api = await startApi()
  second = await startApiProcess()
})
afterAll(async () => {
  await second.close()
  await api.close()
})
beforeEach(async () => {
  merchant = await makeMerchant()
  token = await makeToken(merchant.id, { mode: 'live' })
  bank = new StubBank()
})

const post = (path: string, body: object) => call(api.url, 'POST', path, { token, body })
const charge = () => post('/transactions', CHARGE)
const withdraw = () => post('/withdrawals', WITHDRAWAL)
const changeAccount = (data: object) => db().account.update({ where: { id: merchant.id }, data })
const changeConnection = (id: string, data: object) =>
  db().connection.update({ where: { id }, data })

function expectOk(response: ApiResponse) {
  expect(response.status, response.text).toBe(200)
  return response.body.data
}

describe('live mode', () => {
  test('is closed for an account without a connection: it can only read', async () => {
    expect(refusal(await charge())).toEqual(CLOSED)
    expect(refusal(await withdraw())).toEqual(CLOSED)
    expect(refusal(await post('/transactions/x/refunds', {}))).toEqual(CLOSED)
    expect((await call(api.url, 'GET', '/account', { token })).status).toBe(200)
    expect((await call(api.url, 'GET', '/transactions', { token })).status).toBe(200)
  })

  test('is closed for other accounts of the same installation', async () => {
    await connectBank(bank, await makeMerchant())
    expect(refusal(await charge())).toEqual(CLOSED)
  })

  test('opens with the assignment and closes without it, each for the next request', async () => {
    const connectionId = await addConnection(bank)
    for (let round = 0; round < 3; round++) {
      expect(refusal(await charge())).toEqual(CLOSED)
      await assignConnection(connectionId, merchant)
      // The first request looks the caller up, the second remembers it.
      const { transaction_id: id } = expectOk(await charge())
      expectOk(await charge())
      const stored = await db().charge.findFirstOrThrow({ where: { id } })
      expect(stored).toMatchObject({ mode: 'live', connectionId })
      await changeAccount({ receivingConnectionId: null })
    }
  })

  test('opens and closes in every process at the next request', async () => {
    const body = CHARGE
    const elsewhere = async () =>
      refusal(await call(second.url, 'POST', '/transactions', { token, body }))[2]
    expect(await elsewhere()).toBe('live_mode_disabled')
    await connectBank(bank, merchant)
    // That process has no adapter: the request gets as far as the bank.
    expect(await elsewhere()).toBe('service_unavailable')
    await changeAccount({ receivingConnectionId: null })
    expect(await elsewhere()).toBe('live_mode_disabled')
  })

  test.each([null, 'rejected'])(
    'is closed while the connection has not passed its check (%s)',
    async checkCode => {
      const connectionId = await connectBank(bank, merchant)
      expectOk(await charge())
      await changeConnection(connectionId, { checkCode, checkedAt: checkCode && new Date() })
      expect(refusal(await charge())).toEqual(CLOSED)
      await changeConnection(connectionId, { checkCode: 'ok', checkedAt: new Date() })
      expectOk(await charge())
    },
  )

  test('is closed for a suspended account, whatever it is assigned to', async () => {
    await connectBank(bank, merchant)
    expectOk(await charge())
    await suspendAccount(merchant.id, 'test', { type: 'system' })
    const refused = [403, '{"error":"Account not active"}', 'account_not_active']
    expect(refusal(await charge())).toEqual(refused)
  })

  test('opens for the members in the dashboard too', async () => {
    const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id, 'live')
    const chargeAsMember = () => call(api.url, 'POST', '/transactions', { headers, body: CHARGE })
    expect(refusal(await chargeAsMember())).toEqual(CLOSED)
    await connectBank(bank, merchant)
    expectOk(await chargeAsMember())
    expect(bank.charges.size).toBe(1)
  })

  test('without an adapter in this process is unavailable, and nothing is written', async () => {
    const connectionId = await addConnection(bank, { kind: 'api_pix' })
    await assignConnection(connectionId, merchant)
    expect(refusal(await charge())[2]).toBe('service_unavailable')
    expect(await db().charge.count({ where: { accountId: merchant.id } })).toBe(0)
  })

  test.each([true, false])(
    'pays nothing out for a token that is revoked while its bank is asked (with a key: %s)',
    async hasKey => {
      await connectBank(bank, merchant)
      await fundLive(merchant, 10_000)
      bank.checkPayout = async () => {
        await db().token.updateMany({
          where: { accountId: merchant.id },
          data: { revokedAt: new Date() },
        })
        return { outcome: 'ok', value: null }
      }
      const key = hasKey ? newId() : undefined
      const withdrawal = await call(api.url, 'POST', '/withdrawals', {
        token,
        body: WITHDRAWAL,
        key,
      })
      expect(refusal(withdrawal)[0]).toBe(401)
      expect(await db().withdrawal.count({ where: { accountId: merchant.id } })).toBe(0)
    },
  )

  test.each(['111.111.111-11', '12345678909', '00.000.000/0000-00'])(
    'refuses the placeholder %s as a payer, and writes nothing',
    async client_doc => {
      await connectBank(bank, merchant)
      const { status, body, headers } = await post('/transactions', { ...CHARGE, client_doc })
      const errors = "client_doc must be the payer's own CPF or CNPJ, not a placeholder"
      expect([status, body]).toEqual([422, { errors }])
      expect(headers.get('x-error-code')).toBe('placeholder_document')
      expect(await db().charge.count({ where: { accountId: merchant.id, mode: 'live' } })).toBe(0)
    },
  )

  test('changes nothing about test mode', async () => {
    const testToken = await makeToken(merchant.id)
    expectOk(await call(api.url, 'POST', '/transactions', { token: testToken, body: CHARGE }))
  })
})

describe('withdrawals in live mode', () => {
  test.each([
    ['without a connection to pay out through', { payingConnectionId: null }, {}],
    ['while that connection has not passed its check', {}, { checkCode: 'rejected' }],
    ['while that connection has no key to pay from', {}, { payingKey: null }],
  ])('are refused %s; charges are not', async (_, ofAccount, ofConnection) => {
    await connectBank(bank, merchant)
    await fundLive(merchant, 10_000)
    const payingId = await addConnection(bank)
    await changeAccount({ payingConnectionId: payingId })
    const { id } = expectOk(await withdraw())
    await changeAccount(ofAccount)
    await changeConnection(payingId, ofConnection)
    expect(refusal(await withdraw())).toEqual(NO_PAYOUTS)
    expectOk(await charge())
    expect(await db().withdrawal.count({ where: { accountId: merchant.id } })).toBe(1)
    const stored = await db().withdrawal.findFirstOrThrow({ where: { id } })
    expect(stored).toMatchObject({ connectionId: payingId, mode: 'live' })
  })

  test('need no connection to receive through; charges do', async () => {
    await connectBank(bank, merchant)
    await fundLive(merchant, 10_000)
    await changeAccount({ receivingConnectionId: null })
    const { id } = expectOk(await withdraw())
    expect((await db().withdrawal.findFirstOrThrow({ where: { id } })).mode).toBe('live')
    expect(refusal(await charge())).toEqual(CLOSED)
    const headers = pageHeaders(await signIn(merchant, 'owner'), merchant.id, 'live')
    const options = { headers, body: WITHDRAWAL }
    expectOk(await call(api.url, 'POST', '/withdrawals', options))
  })
})

describe('after another connection is assigned', () => {
  let newBank: StubBank
  let oldId: string
  let newId: string
  beforeEach(async () => {
    await db().$executeRaw`UPDATE charges SET due_at = NULL`
    newBank = new StubBank()
    oldId = await connectBank(bank, merchant)
  })
  const reassign = async () => {
    newId = await connectBank(newBank, merchant)
  }
  const makeDue = (id: string) => db().$executeRaw`
    UPDATE charges SET due_at = now() - interval '1 second', expires_at = now() - interval '1 second'
    WHERE id = ${id}::uuid`
  const connectionOf = async (id: string) =>
    (await db().charge.findFirstOrThrow({ where: { id } })).connectionId

  test('new charges are at the new bank; older ones stay and are credited at the old one', async () => {
    const { transaction_id: older } = expectOk(await charge())
    await reassign()
    const { transaction_id: newer } = expectOk(await charge())
    expect([await connectionOf(older), await connectionOf(newer)]).toEqual([oldId, newId])
    expect([...bank.charges.keys()]).toEqual([removeHyphens(older)])
    expect([...newBank.charges.keys()]).toEqual([removeHyphens(newer)])
    bank.charges.set(removeHyphens(older), paidState(CHARGE.amount))
    await makeDue(older)
    await expireDueCharges()
    const { status } = await db().charge.findFirstOrThrow({ where: { id: older } })
    expect(status).toBe('paid')
    expect(newBank.queriedIds).toEqual([])
    await expectBalancedLedger(merchant.id)
  })

  test('an older charge expires and is removed at the old bank', async () => {
    const { transaction_id: id } = expectOk(await charge())
    await reassign()
    await makeDue(id)
    await expect
      .poll(async () => {
        await expireDueCharges()
        return bank.charges.get(removeHyphens(id))
      })
      .toEqual({ state: 'cancelled' })
    expect([newBank.queriedIds, newBank.cancelledIds]).toEqual([[], []])
  })

  test('an older charge is refunded through the old bank', async () => {
    const { transaction_id: chargeId } = expectOk(await charge())
    const payments = [makePayment(CHARGE.amount)]
    await receivePayments([{ accountId: merchant.id, chargeId, payments }])
    await reassign()
    const { id } = expectOk(await post(`/transactions/${chargeId}/refunds`, { amount: 500 }))
    await sendDueRefunds()
    expect(bank.sentOrders).toMatchObject([{ id: removeHyphens(id), amount: 500 }])
    expect(newBank.sentOrders).toEqual([])
  })

  test('an older withdrawal is sent by the old bank, also when the account has none', async () => {
    await fundLive(merchant, 10_000)
    const { id: older } = expectOk(await withdraw())
    await reassign()
    const { id: newer } = expectOk(await withdraw())
    await changeAccount({ receivingConnectionId: null, payingConnectionId: null })
    await sendDueWithdrawals()
    expect(bank.sentOrders.map(({ id }) => id)).toEqual([removeHyphens(older)])
    expect(newBank.sentOrders.map(({ id }) => id)).toEqual([removeHyphens(newer)])
    await expectBalancedLedger(merchant.id)
  })
})
