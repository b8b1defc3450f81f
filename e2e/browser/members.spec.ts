import { expect, expectAccessible, expectBalance, signIn, test } from '#e2e/browser/app.ts'
import { chooseSize, PHONE } from '#e2e/browser/layout.ts'
import { createPendingOwner, createSession, openShop } from '#e2e/browser/merchant.ts'
import { openPrintedLink } from '#e2e/browser/person.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { VERIFIED } from '#lib/testing/verified.ts'
import { issueToken } from '#lib/tokens/issue.ts'
import type { Permission } from '#lib/tokens/schema.ts'

const PASSWORD = 'girafa azul dorme tarde'

test.use({ locale: 'pt-BR', viewport: { width: 1280, height: 860 } })

test.describe('an invitation', () => {
  // The open page still sends requests after its session has ended.
  test.use({ expectedStatuses: [401] })

  test('lets a developer join, who is signed out by a change of role', async ({
    page,
    context,
    browser,
  }) => {
    test.setTimeout(120_000)
    const shop = await openShop(context, 'Padaria do Convite')
    const email = `dev-${newId()}@troco.example`
    await page.goto('/test/settings/members')
    await page.getByRole('button', { name: 'Convidar' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Enviar convite' }).click()
    await expect(dialog.getByText('Digite o e-mail da pessoa.')).toBeVisible()
    await dialog.getByLabel('E-mail').fill(email)
    await dialog.getByRole('radio', { name: /^Desenvolvedor/ }).check()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Enviar convite' }).click()
    // The application under test has no mail server.
    await expect(dialog.getByText(`Nenhum e-mail foi enviado para ${email}`)).toBeVisible()
    await expect(dialog.getByText('Estamos enviando')).toHaveCount(0)
    const link = (await dialog.getByTestId('invitation-link').textContent()) ?? ''
    await dialog.getByRole('button', { name: 'Fechar' }).last().click()
    await expect(page.getByTestId('invitation-row')).toContainText(email)
    await expectAccessible(page)

    const inviteeContext = await browser.newContext({
      locale: 'pt-BR',
      viewport: chooseSize(PHONE),
    })
    const inviteePage = await inviteeContext.newPage()
    await inviteePage.goto(new URL(link).pathname)
    await expect(inviteePage.getByRole('heading', { level: 1 })).toHaveText(
      'Convite para Padaria do Convite',
    )
    await expect(inviteePage.getByLabel('Seu nome')).toHaveCount(0)
    await expectAccessible(inviteePage)
    await inviteePage.getByRole('button', { name: 'Enviar a mensagem de novo' }).click()
    await expect(inviteePage.getByText('Abra o link da mensagem.')).toBeVisible()
    await openPrintedLink(inviteePage, email, 2)
    await expect(inviteePage.getByRole('heading', { level: 1 })).toHaveText(
      'Convite para Padaria do Convite',
    )
    await expectAccessible(inviteePage)
    await inviteePage.getByLabel('Seu nome').fill('Carla Dias')
    await inviteePage.getByLabel('Senha').fill('carla dias 1990')
    await inviteePage.getByRole('button', { name: 'Aceitar convite' }).click()
    await expect(inviteePage.getByText('Senha fácil de adivinhar.')).toBeVisible()
    await inviteePage.getByLabel('Senha').fill(PASSWORD)
    await inviteePage.getByRole('button', { name: 'Aceitar convite' }).click()
    await inviteePage.waitForURL('**/test/home')
    await inviteePage.goto('/test/settings/members')
    const inviteeRow = inviteePage.getByTestId('member-row').filter({ hasText: 'Carla Dias' })
    await expect(inviteeRow.getByTestId('member-role')).toHaveText('Desenvolvedor')
    await expect(inviteePage.getByRole('button', { name: 'Convidar' })).toHaveCount(0)
    await expect(inviteePage.getByRole('button', { name: 'Mudar papel' })).toHaveCount(0)
    await inviteePage.goto('/test/settings/tokens')
    await expect(inviteePage.getByRole('link', { name: 'Criar token' }).first()).toBeVisible()

    await page.reload()
    const row = page.getByTestId('member-row').filter({ hasText: 'Carla Dias' })
    await row.getByRole('button', { name: 'Mudar papel' }).click()
    await page.getByRole('radio', { name: /^Leitor/ }).check()
    await page.getByRole('dialog').getByRole('button', { name: 'Mudar papel' }).click()
    await expect(row.getByTestId('member-role')).toHaveText('Leitor')
    await inviteePage.getByRole('link', { name: 'Membros' }).click()
    await inviteePage.waitForURL('**/login?next=**')
    await inviteePage.goto(new URL(link).pathname)
    await expect(inviteePage.getByText('Ele já foi usado.')).toBeVisible()
    await inviteeContext.close()
    const where = { accountId: shop.id, user: { email } }
    expect(await db().membership.findFirst({ where })).toMatchObject({ role: 'viewer' })
  })
})

test('an invitation is called sent if the server mailed it', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  await openShop(context)
  await page.route('**/api/dashboard/invitations', route =>
    route.request().method() === 'POST'
      ? route.fulfill({ json: { data: { id: newId(), link: null, is_mailed: true } } })
      : route.fallback(),
  )
  await page.goto('/test/settings/members')
  await page.getByRole('button', { name: 'Convidar' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('E-mail').fill('ana@troco.example')
  await dialog.getByRole('button', { name: 'Enviar convite' }).click()
  await expect(dialog.getByText('Estamos enviando o convite para ana@troco.example')).toBeVisible()
  await expect(dialog.getByText('Nenhum e-mail foi enviado')).toHaveCount(0)
})

test('a member is removed after a decision about each token', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const email = `dev-${newId()}@troco.example`
  const { id } = await db().user.create({
    data: { id: newId(), email, name: 'Davi Dev', ...VERIFIED },
  })
  const key = { accountId: shop.id, userId: id }
  await db().membership.create({ data: { ...key, role: 'developer' } })
  const issue = (mode: 'test' | 'live', name: string, permission: Permission) =>
    issueToken({ accountId: shop.id, mode, name, permissions: [permission] }, { type: 'user', id })
  const kept = await issue('test', 'ERP', 'transactions:write')
  const dropped = await issue('live', 'Planilha', 'account:read')
  await page.goto('/test/settings/members')
  const row = page.getByTestId('member-row').filter({ hasText: 'Davi Dev' })

  await row.getByRole('button', { name: 'Mudar papel' }).click()
  await page.getByRole('radio', { name: /^Financeiro/ }).check()
  await expect(page.getByTestId('issued-token')).toHaveCount(0)
  await page.getByRole('radio', { name: /^Leitor/ }).check()
  await expect(page.getByTestId('issued-token')).toHaveText(/ERP/)
  await expectAccessible(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Mudar papel' }).click()
  await expect(page.getByText('Escolha o que acontece com cada token.')).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancelar' }).click()

  await row.getByRole('button', { name: 'Remover' }).click()
  const dialog = page.getByRole('dialog', { name: 'Remover Davi Dev?' })
  await expect(dialog.getByTestId('issued-token')).toHaveCount(2)
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Remover' }).click()
  await expect(dialog.getByText('Escolha o que acontece com cada token.')).toBeVisible()
  await dialog.getByRole('group', { name: 'ERP' }).getByRole('radio', { name: 'Manter' }).check()
  await dialog
    .getByRole('group', { name: 'Planilha' })
    .getByRole('radio', { name: 'Revogar' })
    .check()
  await dialog.getByRole('button', { name: 'Remover' }).click()
  await expect(row).toHaveCount(0)
  const tokens = await db().token.findMany({ where: { id: { in: [kept.id, dropped.id] } } })
  const states = tokens.map(({ name, issuedBy, revokedAt }) => [name, issuedBy === id, !revokedAt])
  expect(states.sort()).toEqual([
    ['ERP', false, true],
    ['Planilha', true, false],
  ])
})

test.describe('an owner who takes a lower role', () => {
  // The open page still sends requests after its session has ended.
  test.use({ expectedStatuses: [401] })

  test('is led to the sign-in page, and the session has ended', async ({ page, context }) => {
    const shop = await openShop(context)
    const where = { accountId: shop.id }
    const { userId } = await db().membership.findFirstOrThrow({ where })
    await createSession({ accountId: shop.id, role: 'owner' })
    await page.goto('/test/settings/members')
    const row = page.getByTestId('member-row').filter({ hasText: '(você)' })
    await row.getByRole('button', { name: 'Mudar papel' }).click()
    await page.getByRole('radio', { name: /^Leitor/ }).check()
    const dialog = page.getByRole('dialog')
    await expect(dialog).toContainText('Você será desconectado')
    await dialog.getByRole('button', { name: 'Mudar papel' }).click()
    await expect(page).toHaveURL('/login')
    await expect(page.getByLabel('Senha')).toBeVisible()
    await page.goto('/test/home')
    await expect(page).toHaveURL('/login?next=%2Ftest%2Fhome')
    expect(await db().membership.findFirst({ where: { ...where, userId } })).toMatchObject({
      role: 'viewer',
    })
  })
})

test.describe('the last owner', () => {
  test('is told before confirming that the account needs another owner', {
    tag: '@torture',
  }, async ({ page, context }) => {
    await openShop(context)
    await page.goto('/test/settings/members')
    await page.getByRole('button', { name: 'Deixar a conta', exact: true }).first().click()
    const dialog = page.getByRole('dialog', { name: 'Você é o único dono' })
    await expect(dialog).toContainText('Antes de deixá-la, dê o papel de dono a outra pessoa.')
    await expect(dialog.getByRole('button', { name: 'Deixar a conta' })).toHaveCount(0)
    await dialog.getByRole('button', { name: 'Entendi' }).click()
    await expect(dialog).toBeHidden()
    await page.getByRole('button', { name: 'Mudar papel' }).first().click()
    await expect(dialog).toContainText('Antes de mudar o seu papel')
    await expect(dialog.getByRole('radio')).toHaveCount(0)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Entendi' }).click()
    await expect(dialog).toBeHidden()
  })
})

test.describe('a new user, in English and on a phone', () => {
  test.use({ locale: 'en-US', viewport: PHONE, expectedStatuses: [422] })

  test('signs up and has an active account at once', async ({ page }) => {
    test.setTimeout(90_000)
    const email = `shop-${newId()}@troco.example`
    const signUp = async () => {
      await page.getByLabel('Business name').fill('Corner Bakery')
      await page.getByLabel('Your name').fill('Ann Baker')
      await page.getByLabel('E-mail').fill(email)
      await page.getByRole('button', { name: 'Continue' }).click()
      await expect(page.getByText(`We sent a message to ${email}.`)).toBeVisible()
      await expectAccessible(page)
    }
    await page.goto('/login')
    await page.getByRole('link', { name: 'Sign up' }).click()
    await expect(page.getByRole('heading', { name: 'Sign up' })).toBeVisible()
    await expectAccessible(page)
    await signUp()
    await openPrintedLink(page, email, 1)
    await expect(page.getByText(`For ${email}.`)).toBeVisible()
    await expectAccessible(page)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.waitForURL('**/test/home')
    await expectBalance(page, 'R$ 1,000.00')
    await page.goto('/signup')
    await page.getByLabel('Business name').fill('Second Bakery')
    await page.getByRole('button', { name: 'Create account' }).click()
    await page.waitForURL('**/test/home')
    await page.goto('/test/settings/members')
    await expect(page.getByTestId('member-row')).toContainText('Ann Baker')
    await expectAccessible(page)
    await page.goto('about:blank')
    await page.context().clearCookies({ name: 'troco-session' })
    await page.goto('/signup')
    await signUp()
    await openPrintedLink(page, email, 2)
    await expect(page.getByRole('heading', { name: 'Sign in to your account' })).toBeVisible()
  })

  test('created on the command line, confirms the e-mail before the account opens', {
    tag: '@torture',
  }, async ({ page }) => {
    const { email, password } = await createPendingOwner('Quiet Bakery')
    await signIn(page, email, password)
    await page.waitForURL('**/verify')
    await expect(page.getByRole('heading', { name: 'Confirm your e-mail' })).toBeVisible()
    await expectAccessible(page)
    await page.goto('/test/settings/security')
    await page.waitForURL('**/verify')
    await page.getByRole('button', { name: 'Send me a link' }).click()
    await expect(page.getByText(`We sent a link to ${email}.`)).toBeVisible()
    await openPrintedLink(page, email, 1)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Yes, this e-mail is mine' }).click()
    await page.waitForURL('**/test/home')
    await expectBalance(page, 'R$ 1,000.00')
  })
})
