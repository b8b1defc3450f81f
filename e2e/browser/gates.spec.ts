import { readdirSync } from 'node:fs'
import { expect, readSetting, test } from '#e2e/browser/app.ts'
import { createSession, createShop, type Shop } from '#e2e/browser/merchant.ts'
import { PAGES } from '#e2e/browser/page-table.ts'
import type { Role } from '#lib/accounts/schema.ts'
import { SIMULATOR_CONNECTION_ID } from '#lib/banks/served.ts'
import { openDispute } from '#lib/charges/disputes/dispute.ts'
import { newId } from '#lib/core/ids.ts'
import { db } from '#lib/db/client.ts'
import { type AnyPermission, hasPermission } from '#lib/people/roles.ts'
import { keepOfCharge } from '#lib/testing/differences.ts'

const ROLES: Role[] = ['owner', 'finance', 'developer', 'viewer']
/** Text in all data that only members of the account may see. */
const MARKER = 'canary4712'
/** Text in a payer's data, which the operator's staff may not see either. */
const PAYER_MARKER = 'payer4713'
const HEADER_VARIANTS: Record<string, string>[] = [
  {},
  { rsc: '1' },
  { rsc: '1', 'next-router-prefetch': '1', 'next-router-segment-prefetch': '/_tree' },
  { 'x-middleware-subrequest': Array(5).fill('src/middleware').join(':') },
]

test('each page opens only to its audience, whatever headers of Next are sent, and no form works too early', {
  tag: '@torture',
}, async () => {
  test.setTimeout(180_000)
  const pages = readdirSync('app', { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('/page.tsx'))
    .map(file => `/${file.slice(0, -'/page.tsx'.length)}`)
  const problems = [
    ...pages
      .filter(path => !(path in PAGES))
      .map(path => `${path} has no row: say who may open it`),
    ...Object.keys(PAGES)
      .filter(path => !pages.includes(path))
      .map(path => `${path} is no page: remove its row`),
  ]
  expect(problems, 'e2e/browser/page-table.ts').toEqual([])
  const { people, idFor, shopId } = await makeWorld()
  const failures: string[] = []
  for (const [index, [path, audience]] of Object.entries(PAGES).entries()) {
    const filledPath = path
      .replace('[mode]', 'test')
      .replace('[account_id]', shopId)
      .replace(/\[\w+\]/, idFor(path))
    const visits = people.flatMap((visitor, place) => {
      const expected = expectedResult(visitor.label, visitor.role, audience, path)
      const variants = chooseVariants(index, place, expected)
      return variants.map(variant => ({ ...visitor, expected, variant }))
    })
    const results = await Promise.all(
      visits.map(async ({ label, role, secret, expected, variant }) => {
        const cookie: Record<string, string> = secret ? { cookie: `troco-session=${secret}` } : {}
        const init = { redirect: 'manual', headers: { ...variant, ...cookie } } as const
        const response = await fetch(readSetting('BASE_URL') + filledPath, init)
        const text = await response.text()
        const isMember = role !== null && label !== 'a stranger'
        const secrets = isMember
          ? []
          : audience === 'admin'
            ? [PAYER_MARKER]
            : [MARKER, PAYER_MARKER]
        return [
          // A prefetch may return only the layout, so its status proves nothing.
          variant.rsc || describeResult(response, text) === expected
            ? ''
            : `${describeResult(response, text)}, not ${expected}`,
          secrets.some(secret => text.includes(secret)) ? 'shows data of others' : '',
          ...findUnsafeForms(text),
        ].map(problem => problem && `${label} at ${path}: ${problem}`)
      }),
    )
    failures.push(...results.flat().filter(Boolean))
  }
  expect(failures).toEqual([])
})

/**
 * Returns the forms that the browser could send before the page's scripts run. Searches may: they are
 * sent by GET, and the server filters. Any other would put what was typed into the URL, or lose it.
 */
function findUnsafeForms(html: string): string[] {
  const forms = [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)]
  return forms.flatMap(([, attributes = '', content = '']) => {
    const isSearch = /type="search"|formmethod="get"/i.test(content)
    if (isSearch && attributes.includes('method="get"')) return []
    const buttons = content.match(/<button\b[^>]*type="submit"[^>]*>/g) ?? []
    // Roles that may not edit see the fields without a button.
    const isReadOnly = buttons.length === 0 && content.startsWith('<fieldset disabled=""')
    const isUnsent = buttons.length > 0 && buttons.every(button => button.includes('disabled=""'))
    return (isReadOnly || isUnsent) && attributes.includes('method="post"')
      ? []
      : [`has the form <${attributes}>`]
  })
}

/** Chooses all headers, but outside `npm run torture`, where a page stays closed, one of them in turn. */
function chooseVariants(page: number, visitor: number, expected: string): Record<string, string>[] {
  if (process.env.ALL_STORIES) return HEADER_VARIANTS
  const turn = expected === 'opens' ? 0 : (page + visitor) % HEADER_VARIANTS.length
  return HEADER_VARIANTS.slice(turn, turn + 1)
}

function describeResult(response: Response, text: string): string {
  // A streamed page has already sent its status, so its redirect is at the end of the body.
  const streamedLocation = /NEXT_REDIRECT;\w+;([^;"\\]+);/.exec(text)?.[1]
  const location = response.headers.get('location') ?? streamedLocation
  if (location) return `sent to ${new URL(location, readSetting('BASE_URL')).pathname}`
  return response.status === 200 && text !== '' ? 'opens' : `${response.status}`
}

function expectedResult(label: string, role: Role | null, audience: string, path: string): string {
  if (audience === 'anybody') {
    const isSignedIn = path === '/login' && label !== 'a visitor'
    return isSignedIn ? (label === 'an admin' ? 'sent to /admin' : HOME_RESULT) : 'opens'
  }
  if (label === 'a visitor') return 'sent to /login'
  if (audience === 'person') return 'opens'
  if (audience === 'admin') return label === 'an admin' ? 'opens' : '404'
  if (role === null) return HOME_RESULT
  const isTheirs = label !== 'a stranger' || !path.includes('[id]')
  if (audience !== 'member' && !hasPermission(role, audience as AnyPermission)) return '403'
  return isTheirs ? 'opens' : '404'
}

const HOME_RESULT = 'sent to /test/home'

interface Visitor {
  label: string
  role: Role | null
  secret: string | null
}

async function makeWorld() {
  const shop = await createShop(`Loja ${MARKER}`)
  // Before it has members who must approve the withdrawal.
  const ids = await createResources(shop)
  const people: Visitor[] = [{ label: 'a visitor', role: null, secret: null }]
  for (const role of ROLES) {
    const secret = await createSession({ accountId: shop.id, role })
    people.push({ label: `the ${role}`, role, secret })
  }
  const { id: accountId } = await createShop('Loja vizinha')
  const stranger = await createSession({ accountId, role: 'owner' })
  people.push({ label: 'a stranger', role: 'owner', secret: stranger })
  people.push({ label: 'a user without an account', role: null, secret: await createSession({}) })
  people.push({ label: 'an admin', role: null, secret: await createSession({ isAdmin: true }) })
  const idFor = (path: string) => ids.find(([part]) => path.includes(part))?.[1] ?? newId()
  return { people, idFor, shopId: shop.id }
}

/** Creates one object for each page with an id; returns the path segment and the id. */
async function createResources(shop: Shop): Promise<[string, string][]> {
  const send = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(`${readSetting('BASE_URL')}/api${path}`, init)).json()).data
  }
  const webhook_url = `https://${MARKER}.example/hook`
  const payer = { client_name: PAYER_MARKER, client_email: `${PAYER_MARKER}@example.com` }
  const order = { amount: 1_500, ...payer, client_doc: '52998224725', webhook_url }
  const charge = await send('/transactions', order)
  await send(`/sandbox/transactions/${charge.transaction_id}`, { outcome: 'paid' })
  const key = { pix_key: `hold@${MARKER}.example`, pix_key_type: 'email' }
  const withdrawal = await send('/withdrawals', { amount: 1_000, ...key })
  await send(`/sandbox/withdrawals/${withdrawal.id}`, { outcome: 'approved' })
  const { endToEndId } = await db().charge.findFirstOrThrow({ where: { accountId: shop.id } })
  const report = { connectionId: SIMULATOR_CONNECTION_ID, bankId: newId(), amount: 500 }
  const dispute = await openDispute({ ...report, endToEndId: endToEndId ?? '' })
  const delivery = await db().delivery.findFirstOrThrow({ where: { accountId: shop.id } })
  const endpoint = await db().webhookEndpoint.create({
    data: {
      id: newId(),
      accountId: shop.id,
      mode: 'test',
      eventTypes: [],
      url: `https://${MARKER}.example/all`,
      host: `${MARKER}.example`,
    },
  })
  const { itemId } = await keepOfCharge({ accountId: shop.id, chargeId: charge.transaction_id }, 1)
  const logged = { where: { accountId: shop.id } }
  await expect.poll(() => db().requestLog.count(logged)).toBeGreaterThan(0)
  const request = await db().requestLog.findFirstOrThrow(logged)
  const owner = await db().membership.findFirstOrThrow({ where: { accountId: shop.id } })
  // For homologation: no job calls its bank, which does not exist.
  const bank = await db().connection.create({
    data: {
      id: newId(),
      name: `Banco ${newId()}`,
      kind: 'api_pix',
      environment: 'homologation',
      settings: {},
      receivingKeys: [newId()],
    },
  })
  return [
    ['/admin/banks/', bank.id],
    ['/reconciliation/', itemId],
    ['/charges/', charge.transaction_id],
    ['/withdrawals/', withdrawal.id],
    ['/deliveries/', delivery.id],
    ['/requests/', request.id],
    ['/endpoints/', endpoint.id],
    ['/admin/accounts/', shop.id],
    ['/admin/disputes/', dispute?.id ?? ''],
    ['/admin/people/', owner.userId],
  ]
}
