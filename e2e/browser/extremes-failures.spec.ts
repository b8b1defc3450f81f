import type { Page } from 'playwright/test'
import { expect, test } from '#e2e/browser/app.ts'
import { acting, press, sendInvitation } from '#e2e/browser/extreme-dialogs.ts'
import { CHARGE, fill, reviewWithdrawal, type State, sending } from '#e2e/browser/extreme-forms.ts'
import { fillShop, type Ids, makeLinks, NAME } from '#e2e/browser/extreme-shop.ts'
import { BROWSER_LOCALE, fillAddress, inspect, say } from '#e2e/browser/extremes.ts'
import { addSession, createSession, createShop } from '#e2e/browser/merchant.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { newId } from '#lib/core/ids.ts'

test.use({
  locale: BROWSER_LOCALE,
  viewport: { width: 1440, height: 844 },
  actionTimeout: 20_000,
  expectedStatuses: [503],
})

/** Lets every call of the page to the API fail from now on. */
async function breakApi(page: Page): Promise<void> {
  const headers = { 'x-error-code': 'service_unavailable', 'x-request-id': newId() }
  await page.route(
    url => url.pathname.startsWith('/api/'),
    route => route.fulfill({ status: 503, headers, json: {} }),
  )
}

const alertOf = (page: Page) =>
  page.getByRole('main').or(page.getByRole('dialog')).getByRole('alert').filter({ visible: true })

/** Reads the list again, as a browser does that comes back to a page. */
async function refetch(page: Page): Promise<void> {
  await breakApi(page)
  await expect(async () => {
    await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
    await expect(alertOf(page).first()).toBeVisible({ timeout: 12_000 })
  }).toPass({ timeout: 60_000 })
}

const failing = (show: (page: Page) => Promise<unknown>) => async (page: Page) => {
  await breakApi(page)
  await show(page)
  await expect(alertOf(page).first()).toBeVisible()
}

const FAILING_LISTS = [
  'charges',
  'withdrawals',
  'requests',
  'settings/audit',
  'webhooks',
  'webhooks/deliveries/:delivery',
]
const FAILING: State[] = [
  ...FAILING_LISTS.map((list): State => [`${list} without an answer`, `/test/${list}`, refetch]),
  ['a charge that is not created', '/test/charges/new', failing(sending(CHARGE))],
  [
    'a withdrawal that is not created',
    '/test/withdrawals/new',
    failing(async page => {
      await reviewWithdrawal(page)
      await page.getByRole('button', { name: say('withdrawalRequest.confirm') }).click()
    }),
  ],
  ['a token that is not created', '/test/settings/tokens/new', failing(sending({ name: NAME }))],
  [
    'an endpoint that is not created',
    '/test/webhooks/endpoints/new',
    failing(sending({ url: 'https://example.com/hook' })),
  ],
  ['an invitation that is not sent', '/test/settings/members', failing(sendInvitation)],
  ['settings that are not saved', '/test/settings', failing(sending({ full_name: 'Ana' }))],
  [
    'a lost connection',
    '/test/home',
    async page => {
      await page.route('**/healthz', route => route.fulfill({ status: 503 }))
      await page.evaluate(() => dispatchEvent(new Event('offline')))
      await expect(page.getByText(say('connection.lost'))).toBeVisible()
    },
  ],
]

const FAILING_FOR_STAFF: State[] = [
  [
    'an account that is not suspended',
    '/admin/accounts/:account',
    failing(acting('adminAccount.suspend')),
  ],
  ['a view that does not begin', '/admin/accounts/:account', failing(acting('viewing.begin'))],
  [
    'a link that is not mailed',
    '/admin/people/:person',
    failing(acting('adminPeople.reset.password')),
  ],
  [
    'a merchant who is not invited',
    '/admin/accounts',
    failing(async page => {
      await press(page, 'inviteMerchant.invite')
      await fill(page, 'email', 'ana@example.com')
      await press(page, 'inviteMerchant.send')
    }),
  ],
]

test.describe('a failure can be read @torture @one-size', () => {
  let ids: Ids
  test.beforeAll(async () => {
    const shop = await createShop(NAME)
    ids = { ...(await makeLinks(shop)), ...(await fillShop(shop)) }
    ids.admin = await createSession({ isAdmin: true })
  })

  for (const [session, states] of [
    ['owner', FAILING],
    ['admin', FAILING_FOR_STAFF],
  ] as const)
    for (const [name, path, show] of states)
      test(`in the state: ${name}`, async ({ page, context }) => {
        await addSession(context, ids[session] ?? '')
        const waitForQuiet = await watchRequests(page)
        await page.goto(fillAddress(path, ids))
        await waitForQuiet()
        await show(page)
        await waitForQuiet()
        expect(await inspect(page, name)).toEqual([])
      })

  test('on a page that crashed', async ({ page, context, browserErrors }) => {
    await addSession(context, ids.owner ?? '')
    await page.goto('/test/charges')
    await page.route('**/api/dashboard/charges?*', route => route.fulfill({ json: { data: null } }))
    await expect(async () => {
      await page.evaluate(() => dispatchEvent(new Event('visibilitychange')))
      await expect(page.getByRole('heading', { name: say('crash.title') })).toBeVisible({
        timeout: 3_000,
      })
    }).toPass({ timeout: 60_000 })
    expect(await inspect(page, 'a page that crashed')).toEqual([])
    browserErrors.splice(0)
  })
})
