import { readFile } from 'node:fs/promises'
import { openAt } from '#e2e/banks/open.ts'
import { expect, expectAccessible, test } from '#e2e/browser/app.ts'
import { expectFits, findPlace, listRows, PHONE } from '#e2e/browser/layout.ts'
import {
  addSession,
  connectToApplication,
  createSession,
  openAdmin,
  openShop,
} from '#e2e/browser/merchant.ts'
import { type RunningBank, startBank } from '#e2e/psp/start.ts'
import { checkConnection } from '#lib/banks/connections.ts'
import { openDispute } from '#lib/charges/disputes/dispute.ts'
import { receivePayments } from '#lib/charges/receive.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { openLiveCharge } from '#lib/testing/connection.ts'
import { makeMerchant } from '#lib/testing/fixtures.ts'

const AMOUNT = 12_345
const DAY_MS = 86_400_000

test.use({ viewport: { width: 1280, height: 860 } })

let bank: RunningBank
let connectionId: string
test.beforeAll(async () => {
  await connectToApplication()
  bank = await startBank({ kind: 'efi', settleMs: null, keys: [newId()] })
  connectionId = (await openAt(bank, { kind: 'efi', receiving_keys: bank.keys })).id
  await checkConnection(connectionId, { type: 'system' })
  // The worker reads the list of a new connection at once, and again after 5 minutes: from then on in vain,
  // because it would end a dispute that a test ends at the bank.
  const listed = async () => {
    const exchanges = await bank.run('readTraffic', {})
    return exchanges.some(({ route }) => route === '/v2/gn/infracoes')
  }
  await expect.poll(listed).toBe(true)
  const path = '/v2/gn/infracoes'
  await bank.run('addFault', { kind: 'respond', method: 'GET', path, times: 100, hasActed: false })
})
test.afterAll(() => bank.stop())

/** Pays a live charge of a new merchant and disputes it. */
async function dispute(name: string, respondBy = new Date(Date.now() + 3 * DAY_MS)) {
  const merchant = await makeMerchant(name)
  const where = { id: merchant.id }
  await db().account.update({ where, data: { receivingConnectionId: connectionId } })
  const { id: chargeId } = await openLiveCharge(merchant, AMOUNT)
  const txid = chargeId.replaceAll('-', '')
  const [payment] = await bank.run('pay', { txid })
  const endToEndId = payment?.e2eid ?? ''
  const payments = [{ endToEndId, amount: AMOUNT, paidAt: new Date(), txid }]
  await receivePayments([{ accountId: merchant.id, chargeId, payments }])
  const bankId = await bank.run('openDispute', { e2eid: endToEndId })
  const report = { connectionId, bankId, endToEndId, amount: AMOUNT, respondBy }
  const { id } = (await openDispute(report)) ?? { id: '' }
  return { merchant, id, bankId, endToEndId, path: `/admin/disputes/${merchant.id}/${id}` }
}

test('an admin answers a dispute once, with a draft from the records', { tag: '@torture' }, async ({
  page,
}) => {
  const { merchant, id, endToEndId } = await dispute(`Loja ${newId()}`)
  const admin = await openAdmin(page)
  await admin.goto(`/admin/disputes?status=open&q=${merchant.id}`)
  await expectAccessible(admin)
  await admin.getByRole('link', { name: merchant.name }).first().click()
  const field = admin.getByLabel('Text for the bank, in Portuguese')
  await expect(field).toHaveValue(
    RegExp(`Contestamos a notificação de infração.*R\\$ 123,45.*${endToEndId}`),
  )
  await expect(admin.getByText('What the draft says, in English')).toBeVisible()
  await expectAccessible(admin)
  await field.fill('')
  await admin.getByRole('button', { name: 'Send to the bank' }).click()
  await expect(admin.getByText('Write 1 to 2000 characters.')).toBeVisible()
  await field.fill('Entregue em 20/11.\nRastreio: BR123')
  await admin.getByRole('button', { name: 'Send to the bank' }).click()
  const dialog = admin.getByRole('dialog')
  await expectAccessible(admin)
  await dialog.getByRole('button', { name: 'Send to the bank' }).click()
  await expect(admin.getByText('The bank received the defense and will decide.')).toBeVisible()
  await expect(admin.getByText('Rastreio: BR123')).toBeVisible()
  await expect(field).toHaveCount(0)
  expect(await db().dispute.findFirst({ where: { id } })).toMatchObject({
    answer: 'Entregue em 20/11.\nRastreio: BR123',
    answerState: 'taken',
  })
  await admin.goto(`/admin/disputes?status=open&q=${merchant.id}`)
  await expect(admin.getByText('No dispute found')).toBeVisible()
  await admin.context().close()
})

test('an answer that comes too late, and one without a response, say so', {
  tag: '@torture',
}, async ({ page }) => {
  const late = await dispute('Loja Atrasada', new Date(Date.now() - DAY_MS))
  const lost = await dispute('Loja Muda')
  const admin = await openAdmin(page, 'pt-BR')
  const send = async (path: string) => {
    await admin.goto(path)
    await admin.getByRole('button', { name: 'Enviar ao banco' }).click()
    const dialog = admin.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Enviar ao banco' }).click()
  }
  await bank.run('closeDispute', { id: late.bankId, isAccepted: false })
  await send(late.path)
  await expect(admin.getByText('Fora do prazo: o banco não aceita mais')).toBeVisible()
  const path = '/v2/gn/infracoes/'
  await bank.run('addFault', { kind: 'reset', method: 'POST', path, hasActed: false })
  await send(lost.path)
  await expect(admin.getByText('o banco ainda não confirmou')).toBeVisible()
  await expect(admin.getByRole('button', { name: 'Enviar ao banco' })).toHaveCount(0)
  await expectAccessible(admin)
  await admin.context().close()
})

test.describe('on the pages of the merchant', () => {
  test.use({ locale: 'pt-BR' })

  test('a member finds the disputes of the account by deadline, and gets from one to its charge and back', async ({
    page,
    context,
  }) => {
    const { merchant } = await dispute(`Loja ${newId()}`, new Date(Date.now() + 2.5 * DAY_MS))
    await addSession(context, await createSession({ accountId: merchant.id, role: 'viewer' }))
    await page.goto('/live/home')
    await (await findPlace(page, 'Contestações')).click()
    await expect(page.getByRole('heading', { level: 1, name: 'Contestações' })).toBeVisible()
    const row = listRows(page).filter({ hasText: 'R$ 123,45' })
    await expect(row).toContainText('A responder')
    await expect(row).toContainText('em 2 dias')
    await expectAccessible(page)
    const choose = async (name: string) => {
      await page.getByRole('button', { name: /^Situação/ }).click()
      await page.getByRole('menuitemradio', { name }).click()
    }
    await choose('Vencem em até 2 dias')
    await expect(page.getByText('Nenhuma contestação corresponde ao filtro.')).toBeVisible()
    await db().dispute.updateMany({
      where: { accountId: merchant.id },
      data: { respondBy: new Date(Date.now() + DAY_MS) },
    })
    await page.reload()
    await row.getByRole('link').click()
    await expect(page.getByText('O pagador contestou R$ 123,45', { exact: true })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Banco simulado' })).toHaveCount(0)
    await page.getByRole('link', { name: 'Ver todas' }).click()
    await expect(row).toBeVisible()
    await page.setViewportSize(PHONE)
    await expectFits(page)
    await expectAccessible(page)
  })

  test('an account without disputes is told when one appears here', { tag: '@torture' }, async ({
    page,
    context,
  }) => {
    const { id } = await makeMerchant()
    await addSession(context, await createSession({ accountId: id, role: 'owner' }))
    await page.goto('/test/home')
    await (await findPlace(page, 'Contestações')).click()
    await expect(page.getByText('Nenhuma contestação', { exact: true })).toBeVisible()
    await expect(page.getByText('aparece aqui com o prazo da defesa')).toBeVisible()
  })
})

test.describe('in test mode', () => {
  test.use({ locale: 'pt-BR', expectedStatuses: [422] })

  test('a dispute is rehearsed: opened, answered with a text and a file, and decided', async ({
    page,
    context,
  }) => {
    const shop = await openShop(context)
    const headers = { authorization: `Bearer ${shop.token}` }
    const payer = { client_name: 'Ana', client_email: 'ana@example.com', client_doc: '52998224725' }
    const created = await page.request.post('/api/transactions', {
      headers,
      data: { amount: 1_500, ...payer },
    })
    const { transaction_id: id } = (await created.json()).data
    await page.request.post(`/api/sandbox/transactions/${id}`, {
      headers,
      data: { outcome: 'paid' },
    })
    await page.goto(`/test/charges/${id}`)
    const simulated = page.getByRole('region', { name: 'Banco simulado' })
    await simulated.getByRole('button', { name: 'Contestar' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Contestar' }).click()
    await expect(page.getByText('em 7 dias').or(page.getByText('em 6 dias'))).toBeVisible()

    await page.getByRole('button', { name: 'Enviar provas' }).click()
    const dialog = page.getByRole('dialog', { name: 'Enviar provas' })
    const send = dialog.getByRole('button', { name: 'Enviar', exact: true })
    await expectAccessible(page)
    await send.click()
    await expect(dialog.getByText('Escreva até 2000 caracteres ou anexe')).toBeVisible()
    await dialog.getByLabel('O que aconteceu').fill('Entregue em 20/11,\nrastreio BR123.')
    const file = (name: string, text: string) => ({
      name,
      mimeType: 'application/pdf',
      buffer: Buffer.from(text),
    })
    await dialog.locator('input[type=file]').setInputFiles(file('nota.pdf', '<html>'))
    await send.click()
    await expect(dialog.getByText('Escolha um PDF, PNG ou JPEG')).toBeVisible()
    await dialog.locator('input[type=file]').setInputFiles(file('nota fiscal.pdf', '%PDF-1.7'))
    await expect(dialog.getByText('Escolha um PDF, PNG ou JPEG')).toHaveCount(0)
    await send.click()
    await expect(dialog).toBeHidden()
    const evidence = page.getByRole('list', { name: 'Provas do lojista' })
    await expect(evidence).toContainText('rastreio BR123.')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      evidence.getByRole('button', { name: /^nota fiscal\.pdf/ }).click(),
    ])
    expect(await readFile(await download.path(), 'utf8')).toBe('%PDF-1.7')
    await expectAccessible(page)
    await page.setViewportSize(PHONE)
    await expectFits(page)

    const admin = await openAdmin(page, 'pt-BR')
    const dispute = await db().dispute.findFirstOrThrow({ where: { accountId: shop.id } })
    await admin.goto(`/admin/disputes?q=${shop.id}`)
    await expect(admin.getByText('1 prova enviada').filter({ visible: true })).toBeVisible()
    await admin.goto(`/admin/disputes/${shop.id}/${dispute.id}`)
    await expect(admin.getByLabel('Texto para o banco')).toHaveValue(
      /A loja acrescenta:\nEntregue em 20\/11,\nrastreio BR123\./,
    )
    await expectAccessible(admin)
    const [same] = await Promise.all([
      admin.waitForEvent('download'),
      admin.getByRole('button', { name: /^nota fiscal\.pdf/ }).click(),
    ])
    expect(await readFile(await same.path(), 'utf8')).toBe('%PDF-1.7')
    // Not the name that the merchant chose, which may end like a program.
    expect(same.suggestedFilename()).toMatch(/^[0-9a-f-]{36}\.pdf$/)
    await admin.context().close()

    await (await findPlace(page, 'Contestações')).click()
    await listRows(page).filter({ hasText: 'R$ 15,00' }).getByRole('link').click()
    await simulated.getByRole('button', { name: 'Ganhar' }).click()
    await expect(page.getByText('R$ 15,00 voltaram ao saldo disponível.')).toBeVisible()
    await expect(page.getByRole('button', { name: 'Enviar provas' })).toHaveCount(0)
    await expect(evidence).toContainText('rastreio BR123.')
  })
})
