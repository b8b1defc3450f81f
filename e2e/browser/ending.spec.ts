import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { takePictures } from '#e2e/browser/layout.ts'
import { openAdmin } from '#e2e/browser/merchant.ts'
import { createRefund } from '#lib/charges/refunds/refund.ts'
import { db } from '#lib/db/client.ts'
import { giveBack } from '#lib/operator/differences/differences.ts'
import type { Order } from '#lib/orders/order.ts'
import { noteContradiction } from '#lib/orders/send.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { addConnection } from '#lib/testing/connection.ts'
import { keepStray } from '#lib/testing/differences.ts'
import { orderOf } from '#lib/testing/orders.ts'
import { letBeSilent, makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

const UNKNOWN_NAME = 'valor_devolucao_invalido; O valor da devolução é inválido'

test('two admins end a refund that the bank refuses in unknown words', { tag: '@torture' }, async ({
  page,
}) => {
  const [first, second] = [await openAdmin(page), await openAdmin(page)]
  const merchant = await makeSilentMerchant()
  const charge = await db().charge.findFirstOrThrow({ where: { accountId: merchant.id } })
  const { id } = await createRefund(merchant.id, 'live', charge.id, { amount: 2_500 })
  await letBeSilent(id, UNKNOWN_NAME)
  const path = `/admin/accounts/${merchant.id}?charge=${id}`

  await first.goto(path)
  const ending = first.getByRole('region', { name: 'No answer from the bank' })
  await expect(ending.getByText(UNKNOWN_NAME)).toBeVisible()
  await ending.getByRole('button', { name: 'Propose an outcome' }).click()
  const dialog = first.getByRole('dialog')
  await dialog.getByLabel('According to the bank').selectOption('not_sent')
  await dialog.getByLabel('Reason').fill('Ana of the bank, by phone')
  await expectAccessible(first)
  await takePictures(first, 'refund-proposal')
  await dialog.getByRole('button', { name: 'Propose an outcome' }).click()
  await expect(ending.getByText('as not sent', { exact: true })).toBeVisible()

  await second.goto(path)
  const seen = second.getByRole('region', { name: 'No answer from the bank' })
  await takePictures(second, 'refund-confirmation')
  await seen.getByRole('button', { name: 'Confirm and end it' }).click()
  await expect(seen.getByText('Confirmed by')).toBeVisible()
  const row = await db().refund.findFirstOrThrow({ where: { id } })
  expect(row).toMatchObject({ status: 'rejected', rejectionCode: 'ended_unsent' })
  await first.context().close()
  await second.context().close()
})

test('two admins end the return of an unmatched payment on the page of its difference', {
  tag: '@torture',
}, async ({ page }) => {
  const [first, second] = [await openAdmin(page), await openAdmin(page)]
  const connectionId = await addConnection(new StubBank())
  const { itemId } = await keepStray(3_100, { connectionId, mode: 'live' })
  const actor = { type: 'command_line' } as const
  const { id } = await giveBack({ itemId, reason: 'Paid by mistake', actor })
  await letBeSilent(id, UNKNOWN_NAME)

  await first.goto(`/admin/reconciliation/${itemId}`)
  const ending = first.getByRole('region', { name: 'No answer from the bank' })
  await expect(ending.getByText(UNKNOWN_NAME)).toBeVisible()
  await ending.getByRole('button', { name: 'Propose an outcome' }).click()
  const dialog = first.getByRole('dialog')
  await dialog.getByLabel('According to the bank').selectOption('sent')
  await dialog.getByLabel('Reason').fill('In the statement of the bank')
  await dialog.getByRole('button', { name: 'Propose an outcome' }).click()
  await expect(ending.getByText('as sent', { exact: true })).toBeVisible()
  await takePictures(first, 'return-proposed')

  await second.goto(`/admin/reconciliation/${itemId}`)
  await expectAccessible(second)
  await second.getByRole('button', { name: 'Confirm and end it' }).click()
  await expect(second.getByText('Confirmed by')).toBeVisible()
  await expect(second.getByText('Returned to the payer').first()).toBeVisible()
  await first.context().close()
  await second.context().close()
})

test('two admins end a withdrawal that the bank never answers', { tag: '@torture' }, async ({
  page,
}) => {
  const [first, second] = [await openAdmin(page), await openAdmin(page)]
  const merchant = await makeSilentMerchant()
  const { id } = await withdrawInSilence(merchant)
  const path = `/admin/accounts/${merchant.id}?charge=${id}`

  await first.goto(path)
  const ending = first.getByRole('region', { name: 'No answer from the bank' })
  await ending.getByRole('button', { name: 'Propose an outcome' }).click()
  const dialog = first.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Propose an outcome' }).click()
  await expect(dialog.getByText('Use 3 to 200 characters, on one line.')).toBeVisible()
  await dialog.getByLabel('According to the bank').selectOption('not_sent')
  await dialog.getByLabel('Reason').fill('Ana of the bank, by phone')
  await expectAccessible(first)
  await dialog.getByRole('button', { name: 'Propose an outcome' }).click()
  await expect(ending.getByText('as not sent', { exact: true })).toBeVisible()
  await expect(ending.getByText('Another admin must confirm this')).toBeVisible()
  await expect(ending.getByRole('button', { name: 'Confirm and end it' })).toHaveCount(0)

  await second.goto(path)
  const seen = second.getByRole('region', { name: 'No answer from the bank' })
  await expect(seen.getByText('Ana of the bank, by phone')).toBeVisible()
  await expectAccessible(second)
  await seen.getByRole('button', { name: 'Confirm and end it' }).click()
  await expect(seen.getByText('Confirmed by')).toBeVisible()
  await expect(seen.getByRole('button')).toHaveCount(0)
  const row = await db().withdrawal.findFirstOrThrow({ where: { id } })
  expect(row).toMatchObject({ status: 'rejected', rejectionCode: 'ended_unsent' })

  await noteContradiction((await orderOf(id)) as unknown as Order, 'done')
  await second.reload()
  await expect(seen.getByText('The bank now reports that it sent this order')).toBeVisible()
  await second.goto('/admin/health')
  await second.getByRole('link', { name: `View withdrawal ${id}` }).click()
  await expect(second).toHaveURL(`/admin/trace?id=${id}`)
  await expect(second.getByRole('heading', { name: 'Withdrawal' })).toBeVisible()
  await expectAccessible(second)
  await first.context().close()
  await second.context().close()
})
