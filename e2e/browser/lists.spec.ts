import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright/test'
import { expect, test } from '#e2e/browser/app.ts'
import { listRows } from '#e2e/browser/layout.ts'
import { openAdmin, openShop } from '#e2e/browser/merchant.ts'
import { createCharge } from '#lib/charges/create.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { CHARGE } from '#lib/testing/charge.ts'
import { createWithdrawal } from '#lib/withdrawals/create.ts'

test.use({ locale: 'pt-BR' })

const PAST = 'period=custom&from=2020-01-01&to=2020-01-02'

test('clearing the filters of a list removes each of them from its address', async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  await createWithdrawal(shop.id, 'test', {
    pixKeyType: 'cpf',
    pixKey: '52998224725',
    dictKey: '52998224725',
    amount: 1_000,
  })
  for (const [path, filters] of [
    ['/test/charges', `status=pending&q=x&min_amount=1&max_amount=2&${PAST}`],
    ['/test/withdrawals', `status=pending&q=x&${PAST}`],
    ['/test/webhooks', `status=exhausted&type=test.*&endpoint_id=none&reference=x&${PAST}`],
    ['/test/requests', `status=500&method=PUT&path=x&code=x&token_id=${newId()}&${PAST}`],
    [
      '/test/settings/audit',
      `account=${newId()}&actor=${newId()}&target=x&action=token.*&q=x&${PAST}`,
    ],
  ] as const) {
    await page.goto(`${path}?${filters}`)
    await page.getByRole('button', { name: 'Limpar filtros' }).first().click()
    await expect(page).toHaveURL(path)
  }
})

test('one filter of a list is cleared without the others', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  await openShop(context)
  await page.goto('/test/charges?status=paid&min_amount=100&period=today')
  await expect(page.getByText('3 filtros aplicados')).toBeVisible()
  await page.getByRole('button', { name: 'Limpar: Valor' }).click()
  await expect(page).toHaveURL('/test/charges?status=paid&period=today')
  await page.getByRole('button', { name: 'Limpar: Período' }).click()
  await expect(page).toHaveURL('/test/charges?status=paid')
  await page.goto('/test/withdrawals?status=pending&q=x')
  await page.getByRole('button', { name: 'Limpar: Situação' }).click()
  await expect(page).toHaveURL('/test/withdrawals?q=x')
})

test('clearing a selection of accounts unticks them, and nothing is done to them', async ({
  page,
  context,
}) => {
  const name = `Padaria ${newId()}`
  const { id } = await openShop(context, name)
  const admin = await openAdmin(page)
  await admin.goto(`/admin/accounts?q=${id}`)
  const box = listRows(admin).getByRole('checkbox')
  await box.check()
  const bar = admin.getByRole('region').filter({ has: admin.getByText('1 account selected') })
  await bar.getByRole('button', { name: 'Clear selection' }).click()
  await expect(box).not.toBeChecked()
  await expect(bar).toBeHidden()
})

/** Clicks a button that downloads, and returns the lines of the file. */
async function download(page: Page, name: string): Promise<string[]> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name }).click(),
  ])
  return (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
}

test('an export holds the rows of the chosen period only', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const createdAt = new Date('2020-01-01T12:00:00Z')
  const old = await createCharge(shop, 'test', { ...CHARGE, external_id: 'pedido antigo' }, null)
  await db().charge.updateMany({ where: { id: old.id }, data: { createdAt } })
  const payout = { pixKeyType: 'cpf', pixKey: '52998224725', dictKey: '52998224725' } as const
  const sent = await createWithdrawal(shop.id, 'test', { ...payout, amount: 1_000 })
  await createWithdrawal(shop.id, 'test', { ...payout, amount: 2_000 })
  await db().withdrawal.updateMany({ where: { id: sent.id }, data: { createdAt } })
  for (const [list, outside] of [
    ['charges', /pedido antigo/],
    ['withdrawals', /;10,00;/],
  ] as const) {
    await page.goto(`/test/${list}?period=today`)
    const [, row, ...others] = await download(page, 'Exportar CSV')
    expect(row, list).not.toMatch(outside)
    expect(others, list).toEqual([])
  }
  await page.goto(`/test/charges?${PAST}`)
  expect(await download(page, 'Exportar CSV')).toHaveLength(1)
  await page.goto('/test/statement?period=today')
  expect(await download(page, 'Baixar CSV')).toHaveLength(4)
  await page.goto(`/test/statement?${PAST}`)
  expect(await download(page, 'Baixar CSV')).toHaveLength(1)
})

test('a changed filter leaves the second page for the first', { tag: '@torture' }, async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  for (let index = 0; index < 26; index++)
    await createCharge(shop, 'test', { ...CHARGE, client_name: `Pagador ${index}` }, null)
  await page.goto('/test/charges?status=pending')
  const openOlder = async () => {
    await page.getByRole('link', { name: 'Mais antigas' }).click()
    await expect(listRows(page)).toHaveCount(1)
    await expect(page).toHaveURL(/cursor=/)
  }
  await openOlder()
  await page.getByRole('searchbox').fill('Pagador 25')
  await expect(page).toHaveURL('/test/charges?status=pending&q=Pagador+25')
  await expect(listRows(page)).toContainText('Pagador 25')
  await page.goto('/test/charges?status=pending')
  await openOlder()
  await page.getByRole('button', { name: 'Todas' }).click()
  await expect(page).toHaveURL('/test/charges')
  await expect(listRows(page)).toHaveCount(25)
})

test('a list that is opened again has its current rows, and so has going back to it', async ({
  page,
  context,
}) => {
  const shop = await openShop(context)
  const open = (client_name: string) =>
    createCharge(shop, 'test', { ...CHARGE, client_name, external_id: newId() }, null)
  const leave = async () => {
    await page.getByRole('link', { name: 'Saques' }).click()
    await page.waitForURL('/test/withdrawals')
  }
  await open('Ana')
  await page.goto('/test/charges')
  await expect(listRows(page).filter({ hasText: 'Ana' })).toHaveCount(1)
  await leave()
  await open('Bruno')
  // The page brings its rows: it must not show older ones until this request is answered.
  const list = '**/api/dashboard/charges?**'
  await page.route(list, () => {})
  await page.getByRole('link', { name: 'Cobranças' }).click()
  await expect(listRows(page).filter({ hasText: 'Bruno' })).toHaveCount(1)
  await page.unroute(list)
  await leave()
  await open('Carla')
  await page.goBack()
  await expect(listRows(page).filter({ hasText: 'Carla' })).toHaveCount(1)
})
