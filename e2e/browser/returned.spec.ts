import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { expectFits, listRows, PHONE, takePictures } from '#e2e/browser/layout.ts'
import { openShop } from '#e2e/browser/merchant.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { newEndToEndId } from '#lib/banks/simulator.ts'
import { bookReturns } from '#lib/charges/returned.ts'
import { db } from '#lib/db/client.ts'
import { call } from '#lib/testing/call.ts'

test.use({ locale: 'pt-BR', viewport: { width: 1440, height: 900 } })

test('what the bank gave back of a payment is on the charge, in the statement and on the payer’s page', async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const send = async (path: string, body: object) =>
    (await call(readSetting('BASE_URL'), 'POST', path, { token: shop.token, body })).body.data
  const order = {
    amount: 10_000,
    client_name: 'Rita Lima',
    client_doc: '529.982.247-25',
    client_email: 'rita@example.com',
  }
  const { transaction_id: id } = await send('/transactions', order)
  await send(`/sandbox/transactions/${id}`, { outcome: 'paid' })
  const charge = await db().charge.findFirstOrThrow({ where: { id } })
  const returnedAt = new Date()
  const returns = [
    { amount: 4_000, nature: 'MED_FRAUDE' },
    { amount: 1_000, nature: 'ORIGINAL' },
  ].map(each => ({ ...each, id: newEndToEndId().replace('E', 'D'), orderId: null, returnedAt }))
  const endToEndId = charge.endToEndId ?? ''
  await bookReturns(SIMULATOR_CONNECTION_ID, [{ endToEndId, returns }])

  await page.goto(`/test/charges/${id}`)
  await expect(page.getByText(/R\$\s50,00 foram devolvidos ao pagador pelo banco/)).toBeVisible()
  await expect(page.getByText(/O banco devolveu R\$\s40,00 ao pagador/)).toBeVisible()
  await expect(page.getByText('Exigido pelo banco do pagador (MED)')).toBeVisible()
  await expectAccessible(page)
  await expectFits(page, PHONE)
  await takePictures(page, 'returned-charge')
  await page.goto('/test/statement')
  const row = listRows(page).filter({ hasText: 'Devolvido pelo banco' }).first()
  await expect(row.getByRole('link')).toHaveAttribute('href', `/test/charges/${id}`)
  await takePictures(page, 'returned-statement')
  const { payment_url } = (
    await call(readSetting('BASE_URL'), 'GET', `/transactions/${id}`, { token: shop.token })
  ).body.data
  await page.goto(payment_url)
  await expect(page.getByTestId('charge-status')).toHaveText('Pago, com devolução parcial')
  await expect(page.getByText(/R\$\s50,00 deste pagamento voltaram para a conta/)).toBeVisible()
  await expectAccessible(page)
  await takePictures(page, 'returned-payer')
})
