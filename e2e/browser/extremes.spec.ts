import { expect, test } from '#e2e/browser/app.ts'
import {
  ADMIN_PAGES,
  DENSE_ADMIN_PAGES,
  DENSE_PAGES,
  isVisited,
  MEMBER_PAGES,
  UNPROVEN_PAGES,
  VISITOR_PAGES,
} from '#e2e/browser/extreme-pages.ts'
import {
  closeBank,
  fillBank,
  fillShop,
  type Ids,
  makeLinks,
  NAME,
} from '#e2e/browser/extreme-shop.ts'
import { BROWSER_LOCALE, fillAddress, inspect, WIDTHS } from '#e2e/browser/extremes.ts'
import { addSession, createSession, createShop, signOut } from '#e2e/browser/merchant.ts'
import { PAGES } from '#e2e/browser/page-table.ts'
import { watchRequests } from '#e2e/browser/request-watch.ts'

test.use({ locale: BROWSER_LOCALE })

test('every page is among those whose longest texts are read', () => {
  const missing = Object.keys(PAGES).filter(pattern => !isVisited(pattern))
  expect(missing, 'e2e/browser/extreme-pages.ts').toEqual([])
})

const RUNS = [
  {
    name: 'on the fullest pages',
    visitor: [],
    unproven: [],
    member: DENSE_PAGES,
    admin: DENSE_ADMIN_PAGES,
    widths: [1100, 911, 360],
  },
  {
    name: 'on all pages @torture',
    visitor: VISITOR_PAGES,
    unproven: UNPROVEN_PAGES,
    member: MEMBER_PAGES,
    admin: ADMIN_PAGES,
    widths: WIDTHS,
  },
]

for (const { name, visitor, unproven, member, admin, widths } of RUNS)
  test(`the longest names, addresses and amounts can be read ${name}`, {
    tag: ['@one-size', '@torture'],
  }, async ({ page, context }) => {
    test.setTimeout(process.env.ALL_STORIES ? 3_600_000 : 600_000)
    const problems: string[] = []
    const waitForQuiet = await watchRequests(page)
    const visitAll = async (patterns: readonly string[], ids: Ids) => {
      for (const pattern of patterns) {
        await page.goto(fillAddress(pattern, ids))
        await waitForQuiet()
        problems.push(...(await inspect(page, pattern, widths)))
      }
    }
    const shop = await createShop(NAME)
    const links = await makeLinks(shop)
    await visitAll(visitor, links)
    await addSession(context, links.unproven ?? '')
    await visitAll(unproven, links)
    await signOut(context)
    await addSession(context, links.owner ?? '')
    const ids = { ...(await fillShop(shop)), ...(await fillBank(shop)) }
    await visitAll(member, ids)
    await signOut(context)
    await addSession(context, await createSession({ isAdmin: true }))
    await visitAll(admin, ids)
    await closeBank(shop, ids.bank ?? '')
    expect(problems).toEqual([])
  })
