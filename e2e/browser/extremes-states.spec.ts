import type { Page } from 'playwright/test'
import { expect, fillSignIn, test } from '#e2e/browser/app.ts'
import { acting } from '#e2e/browser/extreme-dialogs.ts'
import { reviewWithdrawal, type State, sending } from '#e2e/browser/extreme-forms.ts'
import { fillShop, type Ids, makeLinks, NAME, REFERENCE } from '#e2e/browser/extreme-shop.ts'
import { BROWSER_LOCALE, fillAddress, inspect, say } from '#e2e/browser/extremes.ts'
import {
  addSession,
  connectToApplication,
  createSession,
  createShop,
} from '#e2e/browser/merchant.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'
import { newId } from '#lib/core/ids.ts'
import { openAccountWithOwner } from '#lib/testing/verified.ts'

test.use({
  locale: BROWSER_LOCALE,
  viewport: { width: 1440, height: 844 },
  actionTimeout: 20_000,
  // Statuses of a wrong password, a wrong link and a wrong form.
  expectedStatuses: [401, 404, 422],
})

const EMPTY_LISTS = [
  'home',
  'charges',
  'withdrawals',
  'withdrawals/new',
  'statement',
  'disputes',
  'requests',
  'webhooks',
  'webhooks/endpoints',
  'bank',
  'settings/tokens',
  'settings/members',
  'settings/audit',
  'settings/security',
]
const WITHOUT_MATCHES = [
  ...[
    '/test/charges?q=nothing',
    '/test/withdrawals?q=nothing',
    '/test/statement?period=last_month',
  ],
  '/test/requests?code=nothing',
  '/test/webhooks?reference=nothing',
  '/test/bank?code=nothing',
  '/test/settings/audit?q=nothing',
  '/test/charges/nothing',
  '/nothing',
]
const WITHOUT_MATCHES_OF_STAFF = [
  'accounts?q=nothing',
  'people?q=nothing',
  'tokens?q=nothing',
  'disputes?q=nothing',
  'audit?q=nothing',
  'trace?id=nothing',
  'banks/nothing',
]
const VIEWED = ['home', 'charges', 'charges/:open', 'withdrawals/:withdrawal', 'settings/members']
const ENDED_LINKS = ['/signup/ended', '/reset/ended', '/join/ended']

/** Unticks every box, so that the form lacks a choice as well. */
async function untickAll(page: Page): Promise<void> {
  for (const box of await page.getByRole('checkbox').all()) await box.uncheck()
}

const WRONG_FORMS: State[] = [
  ['an empty charge', '/test/charges/new', sending()],
  [
    'a wrong charge',
    '/test/charges/new',
    sending({ amount: '1', client_name: 'x', client_email: REFERENCE, client_doc: '1' }),
  ],
  ['an empty withdrawal', '/test/withdrawals/new', sending()],
  [
    'a withdrawal to a wrong key',
    '/test/withdrawals/new',
    sending({ amount: '9999999999,99', pix_key: 'x'.repeat(70) }),
  ],
  ['a key of two types', '/test/withdrawals/new', sending({ amount: '1', pix_key: '12345678900' })],
  ['the review of a withdrawal', '/test/withdrawals/new', reviewWithdrawal],
  [
    'an empty token',
    '/test/settings/tokens/new',
    async page => {
      await untickAll(page)
      await page.locator('[name=expires_in_days]').selectOption('date')
      await sending({ allowed_addresses: REFERENCE })(page)
    },
  ],
  [
    'an empty endpoint',
    '/test/webhooks/endpoints/new',
    async page => {
      await page.getByRole('checkbox').first().uncheck()
      await sending({ url: REFERENCE })(page)
    },
  ],
  ['a wrong code', '/test/bank', sending({ code: REFERENCE })],
  ['an empty password', '/test/settings/security', sending()],
]
const WRONG_VISITOR_FORMS: State[] = [
  ['a wrong password', '/login', page => fillSignIn(page, `${newId()}@example.com`, 'wrong one')],
  ['an empty sign-up', '/signup', sending()],
  ['an empty reset', '/reset', sending()],
  ['an easy password', '/reset/:reset', sending({ password: 'password1234' })],
]

test.describe('the longest texts can be read @torture @one-size', () => {
  let ids: Ids
  test.beforeAll(async () => {
    await connectToApplication()
    const shop = await createShop(NAME)
    ids = { ...(await makeLinks(shop)), ...(await fillShop(shop)) }
    const empty = await openAccountWithOwner(NAME)
    ids.nobody = await createSession({})
    ids.newcomer = await createSession({ accountId: empty.id, role: 'owner' })
    ids.admin = await createSession({ isAdmin: true })
  })

  for (const [name, session, paths] of [
    ['lists of a new account', 'newcomer', EMPTY_LISTS.map(path => `/test/${path}`)],
    ['live mode before it is enabled', 'newcomer', ['/live/home', '/live/charges']],
    ['pages of a user without an account', 'nobody', ['/test/home', '/test/settings/security']],
    ['lists without matches', 'owner', WITHOUT_MATCHES],
    [
      'lists of the staff without matches',
      'admin',
      WITHOUT_MATCHES_OF_STAFF.map(path => `/admin/${path}`),
    ],
    ['links that have ended', '', ENDED_LINKS],
  ] as const)
    test(`on ${name}`, async ({ page, context }) => {
      test.setTimeout(900_000)
      const problems: string[] = []
      const waitForQuiet = await watchRequests(page)
      if (session) await addSession(context, ids[session] ?? '')
      for (const path of paths) {
        await page.goto(path)
        await waitForQuiet()
        problems.push(...(await inspect(page, `${name} ${path}`)))
      }
      expect(problems).toEqual([])
    })

  test('on pages that the staff views as the merchant', async ({ page, context }) => {
    test.setTimeout(300_000)
    await addSession(context, ids.admin ?? '')
    await page.goto(fillAddress('/admin/accounts/:account', ids))
    await acting('viewing.begin')(page)
    await page.waitForURL('**/test/home')
    const problems: string[] = []
    for (const path of VIEWED) {
      await page.goto(fillAddress(`/test/${path}`, ids))
      await expect(page.getByRole('region', { name: say('viewing.begin') })).toBeVisible()
      problems.push(...(await inspect(page, `viewed ${path}`)))
    }
    expect(problems).toEqual([])
  })

  for (const [session, states] of [
    ['owner', WRONG_FORMS],
    ['', WRONG_VISITOR_FORMS],
  ] as const)
    for (const [name, path, show] of states)
      test(`in the state: ${name}`, async ({ page, context }) => {
        const waitForQuiet = await watchRequests(page)
        if (session) await addSession(context, ids[session] ?? '')
        await page.goto(fillAddress(path, ids))
        await waitForQuiet()
        await show(page)
        await waitForQuiet()
        expect(await inspect(page, name)).toEqual([])
      })
})
