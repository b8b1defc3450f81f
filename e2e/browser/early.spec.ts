import { expect, holdScripts, readSetting, test } from '#e2e/browser/app.ts'
import { addSession, createSession, openShop } from '#e2e/browser/merchant.ts'

test.use({ locale: 'pt-BR' })

test('a form filled in before its scripts run keeps what was typed, and is sent once they do', async ({
  page,
  context,
}) => {
  await openShop(context)
  const release = await holdScripts(page)
  await page.goto('/test/charges/new', { waitUntil: 'commit' })
  await page.getByLabel('Valor').fill('12,34')
  await page.getByLabel('Nome', { exact: true }).fill('Ana Beatriz')
  await page.getByLabel('E-mail').fill('ana@example.com')
  await page.getByLabel('CPF ou CNPJ').fill('529.982.247-25')
  await page.getByLabel('CPF ou CNPJ').press('Enter')
  const submit = page.getByRole('button', { name: 'Criar cobrança' })
  await expect(submit).toBeDisabled()
  await expect(page).toHaveURL('/test/charges/new')
  release()
  await submit.click()
  await page.waitForURL(/charges\/[\w-]{36}$/)
  await expect(page.getByRole('heading', { level: 1 })).toContainText('12,34')

  await page.unrouteAll({ behavior: 'ignoreErrors' })
  const releaseSettings = await holdScripts(page)
  await page.goto('/test/settings', { waitUntil: 'commit' })
  await page.getByLabel('Seu nome').fill('Beatriz Rocha')
  releaseSettings()
  const form = page.locator('form', { has: page.getByLabel('Seu nome') })
  await form.getByRole('button', { name: 'Salvar' }).click()
  await expect(form.getByRole('status')).toHaveText('Salvo.')

  await page.unrouteAll({ behavior: 'ignoreErrors' })
  const releaseToken = await holdScripts(page)
  await page.goto('/test/settings/tokens/new', { waitUntil: 'commit' })
  const boxes = page.getByRole('checkbox')
  for (const box of [boxes.first(), boxes.last()]) await box.uncheck()
  releaseToken()
  await expect(page.getByRole('button', { name: 'Criar token' })).toBeEnabled()
  await expect(page.getByRole('button', { name: 'Tudo' })).toHaveAttribute('aria-pressed', 'false')
  for (const box of [boxes.first(), boxes.last()]) await expect(box).not.toBeChecked()
})

const OWN_LISTS: [path: string, parameter: string][] = [
  ['/test/charges?status=paid', 'q'],
  ['/test/webhooks?status=failed', 'reference'],
]
const STAFF_LISTS = ['/admin/tokens?status=active', '/admin/people?status=without_factor']
if (process.env.ALL_STORIES) {
  OWN_LISTS.push(
    ['/test/withdrawals?status=approved', 'q'],
    ['/test/settings/audit?period=7d', 'q'],
  )
  STAFF_LISTS.push(
    '/admin/accounts/:id/charges?status=paid',
    '/admin/accounts/:id/withdrawals?status=approved',
    '/admin/accounts?status=active',
    '/admin/disputes?status=open',
    '/admin/audit?period=7d',
  )
}

test('a search typed before the scripts run filters each list, and so it does without scripts', {
  tag: '@torture',
}, async ({ browser }) => {
  const options = { baseURL: readSetting('BASE_URL'), locale: 'pt-BR' }
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ ...options, javaScriptEnabled })
    const page = await context.newPage()
    const search = async (path: string, text: string) => {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      const release = await holdScripts(page)
      await page.goto(path, { waitUntil: 'commit' })
      const input = page.getByRole('searchbox')
      await input.fill(text)
      if (javaScriptEnabled) release()
      else await input.press('Enter')
    }
    const { id, name } = await openShop(context, `Loja ${crypto.randomUUID()}`)
    for (const [path, parameter] of OWN_LISTS) {
      await search(path, 'nada')
      await expect(page).toHaveURL(`${path}&${parameter}=nada`)
    }
    await addSession(context, await createSession({ isAdmin: true }))
    for (const path of STAFF_LISTS) {
      const address = path.replace(':id', id)
      await search(address, name)
      await expect(page).toHaveURL(`${address}&${new URLSearchParams({ q: name })}`)
      if (!path.startsWith('/admin/tokens')) continue
      await expect(page.getByTestId('token-row')).toHaveCount(1)
      await expect(page.getByRole('link', { name })).toHaveAttribute('href', new RegExp(id))
    }
    await context.close()
  }
})

test('keys that open the palette before any script has run are kept, with what is typed after them', async ({
  page,
  context,
}) => {
  await openShop(context)
  for (const path of ['/test/charges', '/test/settings']) {
    const release = await holdScripts(page)
    await page.goto(path, { waitUntil: 'commit' })
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('saqx')
    await page.keyboard.press('Backspace')
    release()
    const palette = page.getByRole('dialog', { name: 'Busca' })
    await expect(palette.locator('input')).toHaveValue('saq')
    await page.keyboard.type('ues')
    await expect(palette.locator('input')).toHaveValue('saques')
    await expect(palette.getByRole('option', { name: 'Saques' })).toBeVisible()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
})

test('the page has its keys back ten seconds after the last one, if its scripts do not come', {
  tag: '@torture',
}, async ({ page, context }) => {
  const errors: Error[] = []
  page.on('pageerror', error => errors.push(error))
  await openShop(context)
  await holdScripts(page)
  await page.goto('/test/charges', { waitUntil: 'commit' })
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await page.evaluate(() => dispatchEvent(new Event('keydown')))
  await page.keyboard.press('Control+k')
  const isTaken = (key: string, laterMs: number) =>
    page.evaluate(
      ([of, ms]) => {
        const event = new KeyboardEvent('keydown', { key: of, cancelable: true })
        Object.defineProperty(event, 'timeStamp', { value: performance.now() + ms })
        return !dispatchEvent(event)
      },
      [key, laterMs] as const,
    )
  expect(await isTaken('s', 0)).toBe(true)
  expect(await isTaken('a', 9_000)).toBe(true)
  expect(await isTaken('q', 60_000)).toBe(false)
  expect(await isTaken('q', 60_000)).toBe(false)
  expect(errors).toEqual([])
})

test('the palette takes what is typed, and Enter, before its scripts are loaded', {
  tag: '@torture',
}, async ({ page, context }) => {
  await openShop(context)
  const html = await (await page.request.get('/test/settings')).text()
  const release = await holdScripts(page, url => !html.includes(url.split('/').at(-1) ?? ''))
  await page.goto('/test/settings')
  const palette = page.getByRole('dialog', { name: 'Busca' })
  const input = palette.locator('input')
  await expect(async () => {
    await page.keyboard.press('Control+k')
    await expect(input).toBeFocused({ timeout: 2_000 })
  }).toPass()
  await page.keyboard.type('saq')
  await expect(palette.getByRole('option')).toHaveCount(0)
  release()
  await expect(palette.getByRole('option', { name: 'Saques' })).toBeVisible()
  await page.keyboard.type('ues')
  await expect(input).toHaveValue('saques')
  await page.keyboard.press('Escape')
  await expect(palette).toHaveCount(0)

  await page.unrouteAll({ behavior: 'ignoreErrors' })
  const releaseEntered = await holdScripts(page, url => !html.includes(url.split('/').at(-1) ?? ''))
  await page.goto('/test/settings')
  const opener = page.getByRole('button', { name: 'Buscar', exact: true })
  await expect(async () => {
    if (!(await palette.isVisible())) await opener.click({ timeout: 2_000 })
    await expect(input).toBeFocused({ timeout: 2_000 })
  }).toPass()
  await page.keyboard.press('Escape')
  await expect(opener).toBeFocused()
  await page.keyboard.press('Enter')
  await page.keyboard.type('chaves')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL('/test/settings')
  releaseEntered()
  await page.waitForURL('**/test/settings/tokens')

  const revoke = page.getByRole('button', { name: /^Revogar/ }).first()
  await revoke.click()
  const dialog = page.getByRole('dialog', { name: /^Revogar/ })
  await expect(dialog).toBeVisible()
  await page.keyboard.press('Control+k')
  await expect(palette).toHaveCount(0)
  await expect(dialog).toBeVisible()
})
