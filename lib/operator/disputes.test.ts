import { beforeAll, expect, test } from 'vitest'
import type { Account } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { openDispute, winDispute } from '#lib/charges/disputes/dispute.ts'
import { recordChargeView } from '#lib/charges/list.ts'
import { simulateCharge } from '#lib/charges/simulate.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { draftAnswer, listDisputeLines, readDispute } from '#lib/operator/disputes.ts'
import { inOwnDatabase, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'

inOwnDatabase()

let merchant: Account
beforeAll(async () => {
  merchant = await makeMerchant('Padaria São João')
})

async function dispute() {
  const { id: chargeId } = await openCharge(merchant, 12_345)
  await recordChargeView(merchant.id, chargeId)
  // The payment may follow in the same millisecond.
  await db().$executeRaw`UPDATE charges SET viewed_at = viewed_at - interval '1 second'
    WHERE id = ${chargeId}::uuid`
  const { end_to_end_id: endToEndId } = await simulateCharge(merchant.id, chargeId, 'paid')
  const connectionId = SIMULATOR_CONNECTION_ID
  const report = { connectionId, bankId: newId(), amount: 12_345, endToEndId: endToEndId ?? '' }
  const { id } = (await openDispute(report)) ?? { id: '' }
  return { id, chargeId, report }
}

test('filters separate what is to be answered, was answered and has ended; the oldest open one is first', async () => {
  const [first, second, answered, closed] = [
    await dispute(),
    await dispute(),
    await dispute(),
    await dispute(),
  ]
  const where = { id: answered?.id }
  await db().dispute.updateMany({ where, data: { answerState: 'taken' } })
  if (closed) await winDispute(closed.report)
  const list = async (status?: 'open' | 'answered' | 'closed', cursor?: string) => {
    const page = await listDisputeLines({ q: merchant.id, status, cursor })
    return page.rows.map(({ id }) => id)
  }
  expect(await list('open')).toEqual([first?.id, second?.id])
  expect(await list('open', first?.id)).toEqual([second?.id])
  expect(await list('answered')).toEqual([answered?.id])
  expect(await list('closed')).toEqual([closed?.id])
  expect(await list()).toEqual([closed?.id, answered?.id, second?.id, first?.id])
})

test('the evidence masks the payer, and the draft says only what it proves', async () => {
  const { id, chargeId, report } = await dispute()
  const found = (await readDispute(merchant.id, id)) ?? expect.unreachable()
  const { evidence } = found
  expect(evidence).toMatchObject({
    charge_id: chargeId,
    payer: '***.982.247-**',
    charged: 12_345,
    refunds: [],
    viewed_at: expect.any(String),
  })
  const draft = draftAnswer(found, 'pt-BR')
  for (const text of [
    'R$ 123,45',
    report.endToEndId,
    'foi aberta em',
    'Nenhum valor foi devolvido',
  ])
    expect(draft).toContain(text)
  expect(draft).not.toContain('confirmou o recebimento')
  const told = { at: evidence.paid_at, type: 'transaction.paid', host: 'x', response_status: 200 }
  const confirmed = { ...evidence, viewed_at: null, attempts: [told] }
  const other = draftAnswer({ ...found, evidence: confirmed }, 'pt-BR')
  expect(other).toContain('confirmou o recebimento')
  expect(other).not.toContain('foi aberta em')
  expect(await readDispute((await makeMerchant()).id, id)).toBeNull()
})
