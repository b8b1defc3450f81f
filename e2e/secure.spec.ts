import { expect, fillSignIn, test } from '#e2e/app.ts'
import { type Secure, startBehindTls } from '#e2e/behind-tls.ts'
import { newShop } from '#e2e/merchant.ts'
import { db } from '#lib/db/client.ts'
import { hashPassword } from '#lib/people/password.ts'

const PASSWORD = 'sete gatos no telhado'

test.use({ ignoreHTTPSErrors: true, locale: 'en-US', viewport: { width: 1280, height: 860 } })

let secure: Secure
let shop: Awaited<ReturnType<typeof newShop>>
test.beforeAll(async () => {
  shop = await newShop('Loja segura')
  secure = await startBehindTls()
})
test.afterAll(() => secure.close())

async function ownerWithPassword() {
  const { userId } = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
  const passwordHash = await hashPassword(PASSWORD)
  return db().user.update({ where: { id: userId }, data: { passwordHash } })
}

test.describe('by https', () => {
  test.use({ refusals: [403, 422] })

  test('a token is made only after its maker has shown again who they are', async ({
    page,
    context,
  }) => {
    const owner = await ownerWithPassword()
    const first = await page.goto(`${secure.url}/login`)
    expect(first?.headers()['strict-transport-security']).toMatch(/^max-age=\d{8}/)
    await fillSignIn(page, owner.email, PASSWORD, { stays: true })
    await page.waitForURL(`${secure.url}/test/home`)
    const cookie = (await context.cookies()).find(({ name }) => name.endsWith('troco-session'))
    expect(cookie).toMatchObject({
      ...{ name: '__Host-troco-session', path: '/', domain: 'localhost' },
      ...{ secure: true, httpOnly: true, sameSite: 'Lax' },
    })
    await db().$executeRaw`
      UPDATE user_sessions SET proved_at = now() - interval '6 minutes'
      WHERE user_id = ${owner.id}::uuid`
    await page.goto(`${secure.url}/test/settings/tokens/new`)
    await page.getByLabel('Name').fill('Loja virtual')
    await page.getByRole('button', { name: 'Create token' }).click()
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await dialog.getByLabel('Password').fill('not this one')
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(dialog.getByText('This is not your password.')).toBeVisible()
    expect(await db().token.count({ where: { accountId: shop.id } })).toBe(1)
    await dialog.getByLabel('Password').fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Confirm' }).click()
    await expect(page.getByTestId('token-value')).toContainText('troco_test_')
    expect(await db().token.count({ where: { accountId: shop.id } })).toBe(2)
  })
})
