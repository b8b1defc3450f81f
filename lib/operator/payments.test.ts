import { expect, test } from 'vitest'
import { newId } from '#lib/core/ids.ts'
import { listMaskedCharges, listMaskedWithdrawals } from '#lib/operator/payments.ts'
import { CANARY } from '#lib/testing/canary.ts'
import { CHARGE, fundMerchant, makeMerchant, openCharge } from '#lib/testing/fixtures.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

test('staff see the payments of one account and mode, by filters, without a whole document or key', async () => {
  const [merchant, other] = await Promise.all([makeMerchant(), makeMerchant()])
  const charge = await openCharge(merchant)
  await openCharge(other)
  await fundMerchant(merchant, 9_000)
  const key = { pixKeyType: 'cpf', pixKey: CANARY.document, dictKey: CANARY.document } as const
  const withdrawal = await createWithdrawal(merchant.id, 'test', {
    amount: 1_000,
    externalId: `cli-${CANARY.document}`,
    ...key,
  })
  const idsOf = (page: { rows: { id: string }[] }) => page.rows.map(({ id }) => id)

  // Without a bank, the account's mode is test unless the URL says otherwise.
  const charges = await listMaskedCharges(merchant.id, {})
  expect(charges).toMatchObject({ mode: 'test', nextCursor: null })
  expect(idsOf(charges)).toContain(charge.id)
  expect(charges.rows).toHaveLength(2)
  expect(await listMaskedCharges(merchant.id, { mode: 'live' })).toMatchObject({ rows: [] })
  expect(idsOf(await listMaskedCharges(merchant.id, { status: 'pending' }))).toEqual([charge.id])
  expect(idsOf(await listMaskedCharges(merchant.id, { q: charge.id }))).toEqual([charge.id])
  for (const { subject } of charges.rows) expect(subject).toMatch(/^\*\*\*\.\d{3}\.\d{3}-\*\*$/)
  const reference = charges.rows.find(({ id }) => id === charge.id)?.external_id ?? ''
  expect(idsOf(await listMaskedCharges(merchant.id, { q: reference }))).toEqual([charge.id])
  expect((await listMaskedCharges(merchant.id, { q: reference, status: 'paid' })).rows).toEqual([])

  const withdrawals = await listMaskedWithdrawals(merchant.id, { q: withdrawal.id })
  expect(idsOf(withdrawals)).toEqual([withdrawal.id])
  expect(withdrawals.rows[0]?.subject).toMatch(/^\*\*\*\.\d{3}\.\d{3}-\*\*$/)
  expect((await listMaskedWithdrawals(merchant.id, { period: 'today' })).rows).toHaveLength(1)
  for (const list of [listMaskedCharges, listMaskedWithdrawals]) {
    const parts = [CANARY.document.slice(0, 5), `cli-${CANARY.document}`]
    for (const q of [CANARY.document, CHARGE.client_name, CHARGE.client_email, ...parts])
      expect((await list(merchant.id, { q })).rows).toEqual([])
    const texts = JSON.stringify([charges, withdrawals])
    for (const text of [CANARY.document, CHARGE.client_name, CHARGE.client_email])
      expect(texts).not.toContain(text)
    expect(texts).not.toContain(CANARY.formattedDocument)
  }
  expect(idsOf(await listMaskedCharges(merchant.id, { cursor: newId() }))).toHaveLength(2)
})
