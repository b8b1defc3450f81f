import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { openAdmin } from '#e2e/browser/merchant.ts'
import { db } from '#lib/db/client.ts'
import { noteContradiction } from '#lib/orders/ended.ts'
import type { Order } from '#lib/orders/order.ts'
import { orderOf } from '#lib/testing/orders.ts'
import { makeSilentMerchant, withdrawInSilence } from '#lib/testing/silent-bank.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

test('two admins end a withdrawal that the bank never answers', async ({ page }) => {
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
  await expect(seen.getByText('The bank now reports that it sent this withdrawal')).toBeVisible()
  await second.goto('/admin/health')
  await second.getByRole('link', { name: `View withdrawal ${id}` }).click()
  await expect(second).toHaveURL(`/admin/trace?id=${id}`)
  await expect(second.getByRole('heading', { name: 'Withdrawal' })).toBeVisible()
  await expectAccessible(second)
  await first.context().close()
  await second.context().close()
})
