import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { expectFits, PHONE, takePictures } from '#e2e/browser/layout.ts'
import { openAdmin } from '#e2e/browser/merchant.ts'
import { db, transaction } from '#lib/db/client.ts'
import { type DayItem, reportDay } from '#lib/differences/day-items.ts'
import { readConnectionBalance } from '#lib/operator/reconciliation/balance.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { connectBank, fundLive } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

test.use({ locale: 'en-US', viewport: { width: 1280, height: 860 } })

const AMOUNT = 125_000
const PDF = {
  name: 'statement.pdf',
  mimeType: 'application/pdf',
  buffer: Buffer.from('%PDF-1.7 -'),
}

/** A day of a bank has a transfer that the books lack. Returns the item, and what differs then. */
async function reportTransfer() {
  const merchant = await makeMerchant(`Corrigida ${Date.now()}`)
  const connectionId = await connectBank(new StubBank(), merchant)
  await fundLive(merchant, 10_000)
  const day = '2026-11-20'
  const bank = { amount: AMOUNT, at: '2026-11-20T13:00:00.000Z', kind: 'TED' }
  const item: DayItem = {
    kind: 'day_missing_here',
    key: `${day} transfer 1`,
    facts: { what: 'transfer', day, bank, ours: null },
  }
  await transaction(tx => reportDay(tx, { connectionId, day }, [item]))
  const { id } = await db().difference.findFirstOrThrow({ where: { connectionId } })
  return { id, readTerms: async () => (await readConnectionBalance(connectionId)).terms }
}

test('two admins correct a difference with an entry and its proof', async ({ page }) => {
  const [first, second] = [await openAdmin(page), await openAdmin(page)]
  const reader = await openAdmin(page, 'pt-BR')
  const { id, readTerms } = await reportTransfer()
  const path = `/admin/reconciliation/${id}`
  expect(await readTerms()).toMatchObject({ others: AMOUNT, books: 10_000 })

  await first.goto(path)
  await takePictures(first, 'correction-1-open')
  await first.getByRole('button', { name: 'Propose an entry…' }).click()
  const dialog = first.getByRole('dialog')
  await expect(dialog.getByText('The bank', { exact: true })).toBeVisible()
  await dialog.getByRole('button', { name: 'Propose entry' }).click()
  await expect(dialog.getByText('Attach a PDF, PNG or JPEG of at most 5 MB.')).toBeVisible()
  await takePictures(first, 'correction-2-refused')
  await dialog.getByLabel('Received by').selectOption('operator')
  await dialog.getByLabel('Reason').fill('TED from the head office, by the statement')
  await dialog.locator('input[type=file]').setInputFiles(PDF)
  await expect(dialog.getByText('statement.pdf')).toBeVisible()
  await expect(dialog.getByText('Attach a PDF, PNG or JPEG of at most 5 MB.')).toHaveCount(0)
  await expectAccessible(first)
  await takePictures(first, 'correction-3-dialog')
  await dialog.getByRole('button', { name: 'Propose entry' }).click()
  await expect(first.getByText('Another admin must approve this')).toBeVisible()
  await expect(first.getByRole('button', { name: 'Approve and book' })).toHaveCount(0)

  await reader.goto(path)
  await takePictures(reader, 'correction-4-proposed-pt')
  await second.goto(path)
  await expect(second.getByText('TED from the head office, by the statement')).toBeVisible()
  const [file] = await Promise.all([
    second.waitForEvent('download'),
    second.getByRole('link', { name: 'Download' }).click(),
  ])
  expect(file.suggestedFilename()).toMatch(/\.pdf$/)
  await expectAccessible(second)
  await expectFits(second, PHONE)
  await takePictures(second, 'correction-4-proposed')
  await second.getByRole('button', { name: 'Approve and book' }).click()
  await expect(second.getByText('Approved by')).toBeVisible()
  await expect(second.getByTestId('item-state').first()).toHaveText('Settled by an entry')
  await takePictures(second, 'correction-5-booked')
  await reader.reload()
  await takePictures(reader, 'correction-5-booked-pt')
  expect(await readTerms()).toMatchObject({ others: 0, acknowledged: 0, books: 10_000 + AMOUNT })
  for (const admin of [first, second, reader]) await admin.context().close()
})
