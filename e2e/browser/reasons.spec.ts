import { expect, readSetting, test } from '#e2e/browser/app.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { call } from '#lib/testing/call.ts'

/** A URL on which no server listens. */
const WEBHOOK_URL = 'http://127.0.0.1:9999/hook'
const PAYER = {
  client_name: 'Ana Beatriz Rocha',
  client_email: 'ana@example.com',
  client_doc: '529.982.247-25',
}
const EXPECTED_TEXTS = {
  'pt-BR': {
    rejected: 'Recusado no banco simulado.',
    brief: 'conexão recusada',
    meaning: 'O servidor recusa conexões.',
  },
  en: {
    rejected: 'Rejected at the simulated bank.',
    brief: 'connection refused',
    meaning: 'The server refuses connections.',
  },
}

for (const [locale, { rejected, brief, meaning }] of Object.entries(EXPECTED_TEXTS)) {
  test.describe(locale, locale === 'en' ? { tag: '@torture' } : {}, () => {
    test.use({ locale })

    test('the reasons of a failed withdrawal and a failed webhook are in this language', async ({
      page,
      context,
    }) => {
      const { token } = await openShop(context)
      const reference = `pedido-${newId().slice(-12)}`
      const send = async (path: string, body: object) =>
        (await call(readSetting('BASE_URL'), 'POST', path, { token, body })).body.data
      const order = { amount: 15_000, ...PAYER, external_id: reference, webhook_url: WEBHOOK_URL }
      const { transaction_id } = await send('/transactions', order)
      await send(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
      const payout = { amount: 1_000, pix_key: 'hold@example.com', webhook_url: WEBHOOK_URL }
      const { id } = await send('/withdrawals', payout)
      await send(`/sandbox/withdrawals/${id}`, { outcome: 'rejected' })
      await page.goto(`/test/withdrawals/${id}`)
      await expect(page.getByText(rejected)).toBeVisible()
      await expect(page.getByText(brief).first()).toBeVisible()
      await page.goto(`/test/charges/${transaction_id}`)
      await expect(page.getByText(brief).first()).toBeVisible()
      await page.goto(`/test/webhooks?reference=${reference}`)
      await page.getByTestId('delivery-row').getByRole('link').first().click()
      await expect(page.getByText(meaning)).toBeVisible()
    })
  })
}
