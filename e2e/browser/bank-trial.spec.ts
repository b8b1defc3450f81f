import type { Page } from 'playwright/test'
import { TrialStage, txidOf } from '#e2e/banks/trial-stage.ts'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { addSession, connectToApplication, createSession } from '#e2e/browser/merchant.ts'
import { closeConnection } from '#lib/accounts/connections.ts'

test.use({
  locale: 'en-US',
  viewport: { width: 1280, height: 900 },
  expectedStatuses: [422],
})

let stage: TrialStage
test.beforeAll(async () => {
  await connectToApplication()
  stage = await TrialStage.open()
})
test.afterAll(() => stage.account.close())
test.beforeEach(async ({ context }) => {
  await stage.connect()
  await addSession(context, await createSession({ isAdmin: true }))
})

/** Opens the page of the connection: the server reads new connections every 5 s. */
async function openPage(page: Page): Promise<void> {
  await expect(async () => {
    await page.goto(`/admin/banks/${stage.connectionId}`)
    await expect(page.getByRole('button', { name: 'Start the test' })).toBeVisible({
      timeout: 2_000,
    })
  }).toPass({ timeout: 30_000 })
}

test('an admin trials a connection: pays the code and sees each step', { tag: '@torture' }, async ({
  page,
}) => {
  test.setTimeout(180_000)
  await openPage(page)
  const key = page.getByLabel('Your Pix key at another bank')
  const begin = page.getByRole('button', { name: 'Start the test' })
  await key.fill('nothing like it')
  await begin.click()
  await expect(key).toHaveAccessibleDescription(/Enter a Pix key/)
  await key.fill('ana@example.com')
  await begin.click()
  await expect(page.getByRole('img', { name: /QR code to pay/ })).toBeVisible({ timeout: 20_000 })
  await expect(page.getByTestId('step-charge')).toContainText('done')
  await expect(page.getByTestId('step-payment')).toContainText('waiting')
  await expectAccessible(page)
  const found = await stage.read()
  await expect(page.getByTestId('trial-code')).toHaveText(found.br_code ?? '')
  await expect(page.getByTestId('step-charge')).toContainText(txidOf(found))
  const e2eid = await stage.pay(found)
  const conclusion = page.getByText('The test passed: all steps are complete.')
  await expect(async () => {
    await stage.announce(e2eid)
    await stage.bank.run('settle')
    await expect(conclusion).toBeVisible({ timeout: 1_000 })
  }).toPass({ timeout: 60_000 })
  for (const step of ['charge', 'payment', 'notice', 'refund', 'withdrawal'])
    await expect(page.getByTestId(`step-${step}`)).toContainText('done')
  await expect(page.getByTestId('step-withdrawal')).toContainText(
    /Withdrawal of R\$\s0\.01 to a\*\*\*@example\.com/,
  )
  await expectAccessible(page)
  await expect(page.getByRole('button', { name: 'Test again' })).toBeVisible()
})

test('a refusal of the bank ends the trial with its text', { tag: '@torture' }, async ({
  page,
}) => {
  await stage.bank.run('addFault', {
    kind: 'respond',
    method: 'PUT',
    path: '/v2/cob/',
    status: 403,
    body: JSON.stringify({ nome: 'acesso_negado', mensagem: 'Sem permissão' }),
  })
  await openPage(page)
  await page.getByLabel('Your Pix key at another bank').fill('ana@example.com')
  await page.getByRole('button', { name: 'Start the test' }).click()
  await expect(page.getByText('The test failed.')).toBeVisible({ timeout: 20_000 })
  await expect(page.getByTestId('step-charge')).toContainText(/The bank answered: .*acesso_negado/)
})

test('a closed connection shows the trial that is open there, and begins no other', {
  tag: '@torture',
}, async ({ page }) => {
  await stage.open()
  await closeConnection(stage.connectionId, { type: 'system' })
  await page.goto(`/admin/banks/${stage.connectionId}`)
  await expect(page.getByTestId('bank-state')).toHaveText('Closed')
  await expect(page.getByText(/^Still open there: 1 charge, /)).toBeVisible()
  await expect(page.getByRole('img', { name: /QR code to pay/ })).toBeVisible()
  await expectAccessible(page)
  await stage.announce(await stage.pay(await stage.read()))
  const conclusion = page.getByText('The test passed: all steps are complete.')
  await expect(async () => {
    await stage.bank.run('settle')
    await expect(conclusion).toBeVisible({ timeout: 1_000 })
  }).toPass({ timeout: 60_000 })
  await expect(page.getByRole('button', { name: 'Test again' })).toHaveCount(0)
})
