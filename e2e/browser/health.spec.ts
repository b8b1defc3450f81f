import type { BrowserContext, Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { listRows, PHONE } from '#e2e/browser/layout.ts'
import { openShop, signInAs, signOut } from '#e2e/browser/merchant.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { changeOrder } from '#lib/testing/orders.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

test.use({ locale: 'pt-BR' })

/** Signs in a new member of the operator's staff. */
async function signInAsStaff(context: BrowserContext): Promise<string> {
  const email = `staff-${newId()}@troco.example`
  await db().user.create({
    data: { id: newId(), email, name: 'Rita da Operação', isAdmin: true, ...VERIFIED },
  })
  await signOut(context)
  await signInAs(context, email)
  return email
}

async function renameAccount(page: Page, name: string): Promise<void> {
  await page.goto('/test/settings')
  await page.getByLabel('Nome da empresa ou loja').fill(name)
  await page.getByRole('button', { name: 'Salvar' }).first().click()
  await expect(page.getByText('Salvo.')).toBeVisible()
}

test('an action of a merchant is in the audit log of the owner and of the operator, who exports it', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context, 'Loja do Registro')
  await renameAccount(page, 'Loja Renomeada')
  await page.getByRole('link', { name: 'Auditoria' }).click()
  const rows = listRows(page)
  const changeRow = rows.filter({ hasText: 'Dados da conta alterados' })
  await expect(changeRow).toHaveCount(1)
  await expectAccessible(page)
  await changeRow.getByRole('button').click()
  const details = page.getByRole('dialog')
  await expect(details.getByText('Loja do Registro → Loja Renomeada')).toBeVisible()
  await expect(details.getByText('account.updated')).toBeVisible()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: /^Ação/ }).click()
  await page.getByRole('menuitemradio', { name: 'Tokens de API' }).click()
  await expect(changeRow).toHaveCount(0)
  await expect(rows).toHaveText([/Token de API criado/])
  await page.getByRole('searchbox').fill('203.0.113.250')
  await expect(page.getByText('Nenhum registro encontrado')).toBeVisible()
  await page.getByRole('button', { name: 'Limpar filtros' }).click()
  await expect(changeRow).toHaveCount(1)

  await signInAsStaff(context)
  await page.goto(`/admin/audit?account=${shop.id}`)
  await expect(changeRow).toHaveCount(1)
  await expect(changeRow).toContainText('Loja Renomeada')
  await changeRow.getByRole('button').click()
  await details.getByRole('button', { name: 'Filtrar por esta pessoa' }).click()
  await expect(rows).toHaveText([/Dados da conta alterados/])
  await page.goto(`/admin/audit?account=${shop.id}`)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Exportar CSV' }).click(),
  ])
  expect(file.suggestedFilename()).toMatch(/^auditoria-[\d-]+\.csv$/)
  await page.reload()
  await expect(rows.first()).toContainText('Auditoria exportada')
})

test('an owner sees that the operator acted, but neither the name nor the IP address', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context, 'Loja Vigiada')
  const owner = await db().membership.findFirstOrThrow({
    where: { accountId: shop.id },
    include: { user: true },
  })
  const email = await signInAsStaff(context)
  const staff = await db().user.findUniqueOrThrow({ where: { email } })
  await db().auditRecord.create({
    data: {
      id: newId(),
      accountId: shop.id,
      actorType: 'user',
      actorId: staff.id,
      action: 'account.limited',
      reason: 'movimento incomum',
      ip: '198.51.100.7',
      after: { charge_max: 100_000 },
    },
  })
  await signOut(context)
  await signInAs(context, owner.user.email)
  await page.goto('/test/settings/audit')
  const row = listRows(page).filter({ hasText: 'Limites da conta' })
  await expect(row).toContainText('o administrador')
  await row.getByRole('button').click()
  const details = page.getByRole('dialog')
  await expect(details.getByText('movimento incomum')).toBeVisible()
  await expect(details.getByText('Máximo por cobrança: R$ 1.000,00')).toBeVisible()
  expect(await page.content()).not.toContain('198.51.100.7')
  expect(await page.content()).not.toContain('Rita da Operação')
})

test('stuck work is listed on the health page, run again and audited', async ({
  page,
  context,
}) => {
  const shop = await openShop(context, `Loja Parada ${Date.now()}`)
  const send = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await fetch(`${readSetting('BASE_URL')}/api${path}`, init)).json()
  }
  const key = { pix_key: 'hold@troco.example', pix_key_type: 'email' }
  const { id } = (await send('/withdrawals', { amount: 1_000, ...key })).data
  const [createdAt, dueAt] = [new Date('2026-01-01'), new Date('2999-01-01')]
  const stuckFields = { attempts: 6, createdAt, dueAt, lease: null }
  await changeOrder(id, stuckFields)
  await signInAsStaff(context)
  await page.goto('/admin/health')
  await expect(page.getByTestId('health-verdict')).toBeVisible()
  await expect(page.getByTestId('check-database')).toContainText('OK')
  const job = page.getByTestId('stuck-job').filter({ hasText: id })
  await expect(job).toContainText(shop.name)
  await expectAccessible(page)
  const line = page.getByTestId('check-withdrawals')
  await line.getByRole('link', { name: /tarefas? paradas?$/ }).click()
  await expect(page).toHaveURL('/admin/health#health-jobs')
  await job.getByRole('button', { name: `Executar agora: Saque ${id}` }).click()
  await expect(page.getByText('1 tarefa reiniciada.')).toBeVisible()
  await page.goto(`/admin/audit?target=${id}`)
  await expect(listRows(page)).toHaveText([/Tarefa parada retomada.*Rita da Operação/])
  await send(`/sandbox/withdrawals/${id}`, { outcome: 'rejected' })
})

test('what a bank blocks is named in Portuguese', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  await openShop(context)
  await signInAsStaff(context)
  const blocked = {
    name: 'gateway',
    level: 'problem',
    state: 'gateway_blocks',
    figures: {
      name: 'Banco do Bloqueio',
      operation: 'sendPayout',
      code: 'scope',
      since_s: 3_600,
      reason: 'insufficient_scope: pix.send',
    },
  }
  // The application that other tests use has no adapter for the connections of other tests.
  await page.route('**/api/admin/health', async route => {
    const response = await route.fetch()
    const { data } = await response.json()
    const checks = [...data.checks, blocked]
    await route.fulfill({ response, json: { data: { ...data, checks } } })
  })
  await page.goto('/admin/health')
  await expect(
    page.getByTestId('check-gateway').filter({ hasText: 'Banco do Bloqueio' }),
  ).toContainText(
    'Banco do Bloqueio bloqueia novos envios há 60 minutos: falta uma permissão às credenciais.',
    { timeout: 15_000 },
  )
  const line = page.getByTestId('check-gateway').filter({ hasText: 'do Bloqueio' })
  await line.getByRole('link', { name: /^Ver / }).click()
  await expect(page).toHaveURL('/admin/banks')
})

test('each warning leads to the page of what it is about, or to a list', {
  tag: '@torture',
}, async ({ page, context }) => {
  const shop = await openShop(context, 'Loja do Alerta')
  const connection = await db().connection.findFirstOrThrow()
  const withdrawal = newId()
  const problem = { level: 'problem', figures: { count: 1, names: '', wrong: 1, busiest: 'none' } }
  const about = (kind: string, id: string) => [{ kind, id, name: `${kind} de teste` }]
  const warnings = [
    { name: 'ledger', state: 'books_wrong', subjects: about('account', shop.id) },
    { name: 'gateway', state: 'gateway_down', subjects: about('bank', connection.id) },
    { name: 'ended', state: 'ends_contradicted', subjects: about('withdrawal', withdrawal) },
    { name: 'staff', state: 'staff_unguarded' },
    { name: 'tokens', state: 'tokens_exceed' },
  ]
  const paths = [
    `/admin/accounts/${shop.id}`,
    `/admin/banks/${connection.id}`,
    `/admin/trace?id=${withdrawal}`,
    '/admin/people?status=without_factor',
    '/admin/tokens',
  ]
  await signInAsStaff(context)
  // The application of other tests has none of these problems.
  await page.route('**/api/admin/health', async route => {
    const response = await route.fetch()
    const { data } = await response.json()
    const checks = warnings.map(warning => ({ ...problem, ...warning }))
    await route.fulfill({ response, json: { data: { ...data, checks } } })
  })
  await page.goto('/admin/health')
  for (const [index, { name, subjects }] of warnings.entries()) {
    const line = page.getByTestId(`check-${name}`)
    await expect(line).toHaveCount(1)
    // The first answer is that of the server, which has withdrawals of other tests.
    const link = line.getByRole('link', { name: subjects ? /de teste$/ : /^Ver / })
    await expect(link).toHaveAttribute('href', paths[index] ?? '')
  }
  await page.getByTestId('check-tokens').getByRole('link', { name: /^Ver / }).click()
  await expect(page).toHaveURL('/admin/tokens')
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
})

test.describe('in English, on a phone', () => {
  test.use({ locale: 'en-US', viewport: PHONE })

  test('a silent worker is shown with advice until it reports again', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    await openShop(context)
    await signInAsStaff(context)
    const silentCheck = {
      name: 'workers',
      level: 'problem',
      state: 'worker_silent',
      figures: { silent_s: 185 },
    }
    let isSilent = false
    // Other tests need the worker of the application, so it cannot be stopped.
    await page.route('**/api/admin/health', async route => {
      const response = await route.fetch()
      const { data } = await response.json()
      if (isSilent) data.checks[0] = silentCheck
      await route.fulfill({ response, json: { data } })
    })
    await page.goto('/admin/health')
    const workers = page.getByTestId('check-workers')
    await expect(workers).toContainText('OK')
    isSilent = true
    await expect(workers).toContainText('No heartbeat for 3 minutes.')
    await expect(workers).toContainText('What to do: Check that the server or worker process')
    await expect(page.getByTestId('health-verdict')).toContainText('problem')
    await expectAccessible(page)
    isSilent = false
    await expect(workers).toContainText('OK')
    await page.goto('/admin/audit')
    await expect(listRows(page).first()).toBeVisible()
    await expectAccessible(page)
  })
})
