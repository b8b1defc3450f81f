import { expect, test } from 'vitest'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { countOpenWork } from '#lib/operator/banks/list.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive, openLiveCharge } from '#lib/testing/connection.ts'
import { inOwnDatabase, makeMerchant } from '#lib/testing/fixtures.ts'
import { letWait } from '#lib/testing/orders.ts'
import { insertWithdrawal } from '#lib/withdrawals/create.ts'
import { rejectWithdrawal } from '#lib/withdrawals/outcome.ts'

inOwnDatabase()

const KEY = { pixKeyType: 'cpf', pixKey: '529.982.247-25', dictKey: '52998224725' } as const

test('what has ended is not counted, nor what is open at another connection', async () => {
  const merchant = await makeMerchant()
  const { id } = merchant
  const connectionId = await connectBank(new StubBank(), merchant)
  const withdraw = () => insertWithdrawal(id, 'live', { amount: 1_000, ...KEY, connectionId })
  await openLiveCharge(merchant)
  const chargeId = await fundLive(merchant, 10_000)
  await createRefund(id, 'live', chargeId, { amount: 3_000 })
  const [, waiting, rejected] = [await withdraw(), await withdraw(), await withdraw()]
  const reason = { code: 'unspecified', params: {} } as const
  await rejectWithdrawal({ accountId: id, withdrawalId: rejected.id, reason })
  await letWait(waiting.id)
  await connectBank(new StubBank(), merchant)
  await openLiveCharge(merchant)
  expect(await countOpenWork(connectionId)).toEqual({
    charges: 1,
    withdrawals: 2,
    unapproved: 1,
    refunds: 1,
  })
})
