import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright/test'
import { expect, expectAccessible, readSetting, test } from '#e2e/browser/app.ts'
import { addSession, createSession, openShop, type Shop, signOut } from '#e2e/browser/merchant.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { findUnreadable } from '#e2e/browser/text-layout.ts'
import { db } from '#lib/base/db/client.ts'
import { newId } from '#lib/base/ids.ts'
import { openDispute } from '#lib/rooms/charges/disputes/open.ts'
import { receivePayments } from '#lib/rooms/charges/receive.ts'
import { issueToken } from '#lib/rooms/tokens/issue.ts'
import { StubBank } from '#lib/testing/bank.ts'
import { call } from '#lib/testing/call.ts'
import { addConnection, assignConnection, openLiveCharge } from '#lib/testing/connection.ts'
import { suspendStray } from '#lib/testing/inbox.ts'
import { makeReceipt } from '#lib/testing/receipts.ts'
import { chooseSeed } from '#lib/testing/seed.ts'
import { VERIFIED } from '#lib/testing/verified.ts'

/** Each run checks one language: the seed decides which. */
test.use({ locale: chooseSeed() % 2 === 0 ? 'pt-BR' : 'en-US' })

/** The longest name and text without a space, where a line can break only inside a word. */
const NAME = `Companhia${'Paranaense'.repeat(9)}`
const PAYER_NAME = `Maria${'Aparecida'.repeat(27)} Souza`
const EMAIL = `${'financeiro'.repeat(6)}@${'filial'.repeat(10)}.${'matriz'.repeat(10)}.troco.example`
const URL = `http://127.0.0.1:9/${'webhooks-de-pagamento/'.repeat(90)}`
const REFERENCE = 'pedido-'.repeat(36)
const AMOUNT_MAX = 999_999_999_999

const PICTURE_FOLDER = '.cache/pictures'

interface Ids {
  [kind: string]: string
}

const PUBLIC_PAGES = ['/login', '/signup', '/reset'] as const
const PAGES = [
  '/test/home',
  '/live/home',
  '/test/charges',
  '/test/charges/new',
  '/test/charges/:paid',
  '/test/charges/:paid/receipt',
  '/test/charges/:open',
  '/test/withdrawals',
  '/test/withdrawals/new',
  '/test/withdrawals/:withdrawal',
  '/test/statement',
  '/test/disputes',
  '/live/disputes',
  '/test/requests',
  '/test/requests/:request',
  '/test/webhooks',
  '/test/webhooks/deliveries/:delivery',
  '/test/webhooks/endpoints',
  '/test/webhooks/endpoints/new',
  '/test/webhooks/endpoints/:endpoint',
  '/test/settings',
  '/test/settings/tokens',
  '/test/settings/tokens/new',
  '/test/settings/members',
  '/test/settings/security',
  '/test/settings/audit',
  '/test/bank?charge=:open',
  ':payment',
] as const
const ADMIN_PAGES = [
  '/admin?span=30d&mode=test',
  '/admin/accounts?q=:account',
  '/admin/accounts/:account',
  '/admin/accounts/:account/charges',
  '/admin/accounts/:account/withdrawals',
  '/admin/people?q=:person',
  '/admin/people/:person',
  '/admin/trace?id=:withdrawal',
  '/admin/tokens?q=:account',
  '/admin/audit?account=:account',
  '/admin/health',
  '/admin/banks',
  '/admin/banks/new',
  '/admin/banks/:bank',
  '/admin/disputes?q=:account',
  '/admin/disputes/:account/:dispute',
  '/admin/reconciliation?connection=:bank',
  '/admin/reconciliation/:item',
] as const

/** The pages with the most columns. */
const DENSE_PAGES = ['/test/home', '/test/charges', '/test/statement', '/test/settings/members']
const DENSE_ADMIN_PAGES = [
  '/admin/accounts/:account',
  '/admin/banks',
  '/admin/reconciliation/:item',
]

/** A laptop of 1366 px at 150 % has 911 px, at 200 % 683. */
const WIDTHS = [1440, 1280, 1100, 1024, 911, 900, 768, 683, 390, 360]

const RUNS = [
  {
    name: 'on the fullest pages',
    ...{ visitor: [], own: DENSE_PAGES, admin: DENSE_ADMIN_PAGES },
    widths: [1100, 911, 360],
  },
  {
    name: 'on all pages @torture',
    ...{ visitor: PUBLIC_PAGES, own: PAGES, admin: ADMIN_PAGES },
    widths: WIDTHS,
  },
]

for (const { name, visitor, own, admin, widths } of RUNS)
  test(`the longest names, addresses and amounts can be read ${name}`, {
    tag: '@one-size',
  }, async ({ page, context }) => {
    test.setTimeout(process.env.ALL_STORIES ? 3_600_000 : 600_000)
    const unreadable: string[] = []
    const check = async (pattern: string) => {
      for (const [index, width] of widths.entries()) {
        await page.setViewportSize({ width, height: 844 })
        const found = await findUnreadable(page)
        unreadable.push(...found.map(text => `${pattern}, ${width} px: ${text}`))
        if (process.env.ALL_STORIES)
          await expectAccessible(page, [index % 2 === 0 ? 'light' : 'dark'])
        if (process.env.TOUR_PICTURES) await takePicture(page, pattern, width)
      }
    }
    const waitForQuiet = await watchRequests(page)
    const visit = async (pattern: string, ids: Ids = {}) => {
      await page.goto(pattern.replaceAll(/:([a-z]+)/g, (_, kind) => ids[kind] ?? ''))
      await waitForQuiet()
    }
    const visitAll = async (patterns: readonly string[], ids?: Ids) => {
      for (const pattern of patterns) {
        await visit(pattern, ids)
        await check(pattern)
      }
    }
    await visitAll(visitor)
    const shop = await openShop(context, NAME)
    const ids: Ids = {
      ...(await fillShop(shop)),
      ...(await fillBank(shop)),
      endpoint: await createEndpoint(page, shop),
    }
    await visitAll(own, ids)
    await visit('/test/settings/members')
    await page
      .getByTestId('member-row')
      .filter({ hasText: EMAIL.slice(0, 20) })
      .getByRole('button', { name: /^(Remover|Remove)/ })
      .click()
    await expect(page.getByRole('dialog').getByRole('heading')).toContainText(NAME)
    await check('a dialog about a member')
    await signOut(context)
    await addSession(context, await createSession({ isAdmin: true }))
    await visitAll(admin, ids)
    await closeBank(shop, ids.bank ?? '')
    expect(unreadable).toEqual([])
  })

async function takePicture(page: Page, pattern: string, width: number): Promise<void> {
  mkdirSync(PICTURE_FOLDER, { recursive: true })
  const name = pattern.replaceAll(/\W+/g, '-').replace(/^-/, '')
  await page.screenshot({ path: `${PICTURE_FOLDER}/extreme-${name}-${width}.png`, fullPage: true })
}

/** Creates one object of each kind with the longest content that is allowed. */
async function fillShop({ id: accountId, token }: Shop): Promise<Ids> {
  const api = readSetting('BASE_URL')
  const send = async (path: string, body: object) => {
    const response = await call(api, 'POST', path, { token, body })
    expect(response.status, path).toBe(200)
    return response.body.data
  }
  const { id: userId } = await db().user.create({
    data: { id: newId(), email: `${newId()}-${EMAIL}`.slice(0, 254), name: NAME, ...VERIFIED },
  })
  await db().membership.create({ data: { accountId, userId, role: 'owner' } })
  const permissions = ['transactions:read', 'account:read', 'events:read'] as const
  const issuer = { type: 'user', id: userId } as const
  await issueToken({ accountId, mode: 'test', name: NAME, permissions: [...permissions] }, issuer)
  const charge = (external_id: string) =>
    send('/transactions', {
      ...{ amount: AMOUNT_MAX, client_name: PAYER_NAME, client_email: EMAIL, external_id },
      ...{ client_doc: '529.982.247-25', client_phone: '+55 (11) 98765-4321', webhook_url: URL },
      items: [{ name: NAME.repeat(3), price: AMOUNT_MAX, quantity: 1_000_000 }],
      metadata: { [REFERENCE]: URL, observação: PAYER_NAME },
      utms: { utm_campaign: REFERENCE, utm_source: NAME },
    })
  const open = await charge(REFERENCE)
  const paid = await charge(`x${REFERENCE}`)
  const kept = await charge(`y${REFERENCE}`)
  for (const { transaction_id } of [paid, kept])
    await send(`/sandbox/transactions/${transaction_id}`, { outcome: 'paid' })
  const key = { pix_key: `hold@${EMAIL.slice(-70)}`, pix_key_type: 'email' }
  const { id: withdrawal } = await send('/withdrawals', {
    ...{ amount: AMOUNT_MAX, ...key, external_id: REFERENCE, webhook_url: URL },
  })
  const where = { accountId }
  const delivery = await db().delivery.findFirstOrThrow({ where })
  const { payment_url: payment } = (
    await call(api, 'GET', `/transactions/${open.transaction_id}`, { token })
  ).body.data
  // The oldest one created the charge with the longest content.
  const readRequests = async () =>
    (await call(api, 'GET', '/requests?method=POST&limit=100', { token })).body.data
  await expect.poll(readRequests).toHaveLength(6)
  return {
    ...{ person: userId, request: (await readRequests()).at(-1).id },
    ...{ open: open.transaction_id, paid: paid.transaction_id, withdrawal, payment },
    ...{ account: accountId, delivery: delivery.id },
  }
}

/** Connects the shop to a bank with a long name that reports a dispute and a payment without a charge. */
async function fillBank(shop: Shop): Promise<Ids> {
  const name = `Banco ${newId()} ${'Cooperativo'.repeat(9)}`.slice(0, 60)
  const bank = await addConnection(new StubBank(), { name })
  await assignConnection(bank, shop)
  const { id: chargeId } = await openLiveCharge(shop, AMOUNT_MAX)
  const payment = makeReceipt(AMOUNT_MAX)
  await receivePayments([{ accountId: shop.id, chargeId, payments: [payment] }])
  const { endToEndId } = payment
  const respondBy = new Date(Date.now() + 86_400_000)
  const report = { connectionId: bank, bankId: newId(), endToEndId, amount: AMOUNT_MAX, respondBy }
  const dispute = await openDispute(report)
  await openLiveCharge(shop, AMOUNT_MAX)
  const { itemId } = await suspendStray(AMOUNT_MAX, { connectionId: bank, mode: 'live' })
  return { bank, dispute: dispute?.id ?? '', item: itemId }
}

/** Nothing answers at the bank: other tests would see its calls fail. */
async function closeBank({ id }: Shop, bank: string): Promise<void> {
  const unassigned = { receivingConnectionId: null, payingConnectionId: null }
  await db().account.update({ where: { id }, data: unassigned })
  const data = { isAssignable: false, disabledAt: new Date() }
  await db().connection.update({ where: { id: bank }, data })
}

async function createEndpoint(page: Page, { id }: Shop): Promise<string> {
  const response = await page.request.post('/api/webhooks/endpoints', {
    headers: { origin: readSetting('BASE_URL'), 'troco-account': id, 'troco-mode': 'test' },
    data: { url: URL, event_types: '*' },
  })
  return (await response.json()).data.id
}
