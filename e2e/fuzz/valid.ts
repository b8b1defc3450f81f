import type { Random } from '#e2e/fuzz/random.ts'
import type { World } from '#e2e/fuzz/world.ts'
import { CANARY } from '#lib/testing/stage.ts'

/** The fields of a body, each value as JSON text, so that it can be what no value can be. */
export type Fields = [key: string, json: string][]

/** What a request says that is answered 200, as a rule. */
export interface Valid {
  params?: string[]
  query?: [name: string, value: string][]
  fields?: Fields
}

interface About {
  random: Random
  world: World
  seed: number
  number: number
}

/** What each route takes. One without a row gets UUIDs and no fields, and then shows as unreached. */
const VALID: Record<string, (about: About) => Valid> = {
  'POST /transactions': about => ({ fields: chargeFields(about) }),
  'GET /transactions': ({ random }) => ({ query: listQuery(random, 'paid') }),
  'GET /transactions/[id]': about => ({ params: [someCharge(about)] }),
  'POST /sandbox/transactions/[id]': about => ({
    params: [someCharge(about)],
    fields: toFields({ outcome: about.random.pick(['paid', 'failed', 'expired']) }),
  }),
  'POST /withdrawals': about => ({ fields: withdrawalFields(about) }),
  'GET /withdrawals': ({ random }) => ({ query: listQuery(random, 'approved') }),
  'GET /withdrawals/[id]': ({ random, world }) => ({ params: [random.pick(world.withdrawals)] }),
  'POST /sandbox/withdrawals/[id]': ({ random, world }) => ({
    params: [random.pick(world.withdrawals)],
    fields: toFields({ outcome: random.pick(['approved', 'rejected']), reason: 'fuzz' }),
  }),
  'POST /transactions/[id]/refunds': ({ random, world }) => ({
    params: [random.pick(world.paid)],
    fields: toFields({ amount: random.between(1, 20), reason: 'fuzz' }),
  }),
  'GET /transactions/[id]/refunds': ({ random, world }) => ({ params: [random.pick(world.paid)] }),
  'GET /transactions/[id]/refunds/[refund_id]': ({ random, world }) => ({
    params: random.pick(world.refunds),
  }),
  'GET /events': ({ random }) => ({
    query: random.some([
      ['after', `${random.between(0, 40)}`],
      ['limit', '5'],
    ]),
  }),
}

const ENDPOINT = '/dashboard/webhooks/endpoints/[id]'
const DELIVERY = '/dashboard/webhooks/deliveries/[id]'
const HOOK = 'http://127.0.0.1:9999/hook'
const ADMIN_ACCOUNT = '/admin/accounts/[id]'
const WHY = toFields({ reason: 'fuzz' })
/** Only some are deleted: the others are there to the end. */
const DELETED = 3
const PASSWORD = 'quatro palavras sem nexo'
/** Looks like one, and opens nothing. */
const NO_SECRET = 'x'.repeat(43)

/** What only our own pages ask for. */
const OF_PAGES: Record<string, (about: About) => Valid> = {
  'PATCH /dashboard/members/[id]': ({ random, world }) => ({
    params: [random.pick(world.spareMembers)],
    fields: toFields({ role: random.pick(['finance', 'developer', 'viewer']) }),
  }),
  'DELETE /dashboard/members/[id]': ({ random, world }) => ({
    params: [random.pick(world.spareMembers.slice(0, DELETED))],
  }),
  'POST /dashboard/invitations': ({ random }) => ({
    fields: toFields({
      email: `Invited-${random.between(1, 20)}@troco.example`,
      role: random.pick(['owner', 'viewer']),
    }),
  }),
  'DELETE /dashboard/invitations/[id]': ({ random, world }) => ({
    params: [random.pick(world.invitations)],
  }),
  'POST /visitor/join': () => ({
    fields: toFields({ secret: NO_SECRET, full_name: 'Ana', password: PASSWORD }),
  }),
  'POST /visitor/signup': ({ seed, number }) => ({
    fields: toFields({
      account_name: 'Loja do Fuzz',
      full_name: 'Ana',
      email: `fuzz-${seed}-${number}@troco.example`,
      password: PASSWORD,
    }),
  }),
  'POST /person/join': () => ({ fields: toFields({ secret: NO_SECRET }) }),
  'POST /person/accounts': () => ({ fields: toFields({ account_name: 'Outra 🦊' }) }),
  'POST /admin/invitations': ({ random }) => ({
    fields: toFields({ email: `shop-${random.between(1, 20)}@troco.example` }),
  }),
  'GET /dashboard/bank/read': ({ random }) => ({
    query: [['code', random.pick(['000201', 'hello', '00020126']) + random.between(0, 9_999)]],
  }),
  'GET /dashboard/charges/totals': ({ random }) => ({
    query: random.some<[string, string]>([
      ['status', 'paid'],
      ['q', 'ana'],
      ['amount_from', '1500'],
    ]),
  }),
  'GET /dashboard/charges/export': ({ random }) => ({
    query: [
      ['locale', random.pick(['pt-BR', 'en'])],
      ...random.some<[string, string]>([
        ['status', 'paid'],
        ['q', 'ana'],
        ['amount_to', '99999'],
      ]),
    ],
  }),
  'GET /dashboard/home': ({ random }) => ({
    query: random.some([
      ['period', random.pick(['7d', '90d', 'custom'])],
      ['from', '2026-01-31'],
      ['to', '2026-02-28'],
    ]),
  }),
  'GET /dashboard/statement/export': ({ random }) => ({
    query: [
      ['format', random.pick(['csv', 'ofx'])],
      ['locale', random.pick(['pt-BR', 'en'])],
      ...random.some<[string, string]>([
        ['period', random.pick(['7d', 'all', 'custom'])],
        ['from', '2026-01-01'],
        ['to', '2026-12-31'],
      ]),
    ],
  }),
  'GET /dashboard/withdrawals/[id]/timeline': ({ random, world }) => ({
    params: [random.pick(world.withdrawals)],
  }),
  'GET /dashboard/audit': ({ random }) => ({ query: auditQuery(random) }),
  'GET /dashboard/audit/export': ({ random }) => ({
    query: [['locale', random.pick(['pt-BR', 'en'])], ...auditQuery(random)],
  }),
  'GET /admin/audit': ({ random }) => ({ query: auditQuery(random) }),
  'GET /admin/audit/export': ({ random }) => ({
    query: [['locale', random.pick(['pt-BR', 'en'])], ...auditQuery(random)],
  }),
  'POST /admin/jobs/requeue': ({ random }) => ({
    fields: toFields({ kind: random.pick(['withdrawal', 'refund', 'charge', 'mail']) }),
  }),
  'POST /dashboard/tokens': ({ random }) => ({
    fields: toFields({
      name: 'Loja 🦊',
      permissions: random.pick([['account:read'], ['events:read', 'refunds:write']]),
      expires_in_days: random.between(1, 365),
    }),
  }),
  'POST /dashboard/tokens/[id]/revoke': ({ random, world }) => ({
    params: [random.pick(world.spareTokens)],
    fields: toFields({ reason: 'fuzz' }),
  }),
  'POST /dashboard/tokens/[id]/rotate': ({ random, world }) => ({
    params: [random.pick(world.spareTokens)],
    fields: toFields({ overlap_hours: random.pick([0, 1, 24, 168]) }),
  }),
  'PATCH /dashboard/account': ({ random }) => ({
    fields: toFields({
      name: random.pick(['Padaria do Fuzz', 'João d’Ávila 🦊']),
      city: 'São Luís',
      expires_in: random.between(3_600, 2_592_000),
      time_zone: random.pick(['America/Manaus', 'UTC']),
    }),
  }),
  'PATCH /dashboard/profile': ({ random }) => ({
    fields: toFields({ full_name: 'Ana', theme: random.pick(['light', 'dark', 'system']) }),
  }),
  'POST /dashboard/charges/[id]/document': about => ({ params: [someCharge(about)] }),
  [`POST ${ADMIN_ACCOUNT}/activate`]: ({ world }) => ({ params: [stopped(world)], fields: [] }),
  [`POST ${ADMIN_ACCOUNT}/suspend`]: ({ world }) => ({ params: [stopped(world)], fields: WHY }),
  [`PUT ${ADMIN_ACCOUNT}/limits`]: ({ random, world }) => ({
    params: [random.pick(world.accounts)],
    fields: toFields({
      charge_max: random.between(500, 1_000_000),
      withdrawal_max: null,
      night_max: random.between(0, 1_000_000),
    }),
  }),
  [`POST ${ADMIN_ACCOUNT}/tokens/revoke`]: ({ world }) => ({
    params: [stopped(world)],
    fields: WHY,
  }),
  [`POST ${ADMIN_ACCOUNT}/tokens/[token_id]/revoke`]: ({ random, world }) => ({
    params: [world.accounts[0] ?? '', random.pick(world.spareTokens)],
    fields: WHY,
  }),
  [`POST ${ADMIN_ACCOUNT}/charges/[charge_id]/document`]: ({ random, world }) => ({
    params: [world.accounts[0] ?? '', random.pick(world.paid)],
    fields: WHY,
  }),
  'POST /visitor/passkey': () => ({ fields: toFields({ challenge: NO_SECRET }) }),
  'POST /person/proof': () => ({ fields: toFields({ password: PASSWORD }) }),
  'POST /person/authenticator/confirm': () => ({ fields: toFields({ code: '000000' }) }),
  'POST /person/recovery-codes': () => ({ fields: toFields({ code: 'abcde-fghjk' }) }),
  'POST /person/passkeys': () => ({
    fields: toFields({
      name: 'Celular 🦊',
      challenge: NO_SECRET,
      passkey: {
        id: NO_SECRET,
        rawId: NO_SECRET,
        type: 'public-key',
        clientExtensionResults: {},
        response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
      },
    }),
  }),
  'POST /person/password': () => ({
    fields: toFields({ current: 'girassol verde 88', password: 'girassol verde 88' }),
  }),
  'POST /visitor/reset': ({ number }) => ({
    fields: toFields({ email: `fuzz-${number}@troco.example` }),
  }),
  'POST /visitor/reset/confirm': () => ({
    fields: toFields({ secret: 'x'.repeat(43), password: 'girassol verde 88' }),
  }),
  'GET /dashboard/find': about => ({ query: [['q', someCharge(about)]] }),
  'POST /dashboard/webhooks/endpoints': ({ random }) => ({
    fields: toFields({ url: HOOK, event_types: random.pick(['*', ['transaction.paid']]) }),
  }),
  [`GET ${ENDPOINT}`]: about => ({ params: [someEndpoint(about)] }),
  [`PATCH ${ENDPOINT}`]: about => ({
    params: [someEndpoint(about)],
    fields: toFields({ url: HOOK, event_types: ['withdrawal.approved'] }),
  }),
  [`DELETE ${ENDPOINT}`]: ({ random, world }) => ({
    params: [random.pick(world.endpoints.slice(0, DELETED))],
  }),
  [`POST ${ENDPOINT}/disable`]: about => ({ params: [someEndpoint(about)] }),
  [`POST ${ENDPOINT}/enable`]: about => ({
    params: [someEndpoint(about)],
    fields: toFields({ send_missed: about.random.chance(0.5) }),
  }),
  [`POST ${ENDPOINT}/rotate`]: about => ({ params: [someEndpoint(about)] }),
  [`POST ${ENDPOINT}/test`]: about => ({
    params: [someEndpoint(about)],
    fields: toFields({ type: 'withdrawal.rejected' }),
  }),
  'GET /dashboard/webhooks/deliveries': ({ random }) => ({
    query: random.some([
      ['limit', `${random.between(1, 100)}`],
      ['status', random.pick(['pending', 'paused', 'stopped'])],
      ['type', random.pick(['transaction.paid', 'withdrawal.*'])],
      ['endpoint_id', 'none'],
      ['reference', 'order-1'],
      ['created_from', '2026-01-01'],
    ]),
  }),
  'GET /dashboard/charges/[id]/timeline': about => ({ params: [someCharge(about)] }),
  [`GET ${DELIVERY}`]: about => ({ params: [someDelivery(about)] }),
  [`POST ${DELIVERY}/resend`]: about => ({ params: [someDelivery(about)] }),
  'GET /dashboard/webhooks/deliveries/resend': ({ random, world }) => ({
    query: [
      ['from', world.since],
      ...random.some<[string, string]>([
        ['type', 'transaction.*'],
        ['endpoint_id', 'none'],
        ['reference', 'order-1'],
        ['status', 'exhausted'],
      ]),
    ],
  }),
  'POST /dashboard/webhooks/deliveries/resend': ({ world }) => ({
    fields: toFields({ from: world.since }),
  }),
}

/** Of the three accounts the one that nobody else needs. */
function stopped({ accounts }: World): string {
  return accounts[2] ?? ''
}

function auditQuery(random: Random): [string, string][] {
  return random.some<[string, string]>([
    ['action', random.pick(['token.*', 'token.revoked', 'webhook_endpoint.created'])],
    ['actor', random.pick(['system', 'ana@example.com', '0190e5c8-7b9a-7c3e-8d1f-123456789abc'])],
    ['target', '0190e5c8-7b9a-7c3e-8d1f-123456789abc'],
    ['q', random.pick(['203.0.113.9', 'a-request'])],
    ['created_from', '2026-01-01'],
    ['created_to', '2099-01-01T00:00:00Z'],
  ])
}

function someEndpoint({ random, world }: About): string {
  return random.pick(world.endpoints)
}

function someDelivery({ random, world }: About): string {
  return random.pick(world.deliveries)
}

export function makeValid(route: string, about: About): Valid {
  return (VALID[route] ?? OF_PAGES[route])?.(about) ?? {}
}

/** One that was there from the start, or one that an earlier request of this seed may have made. */
const ENOUGH_MADE = 500

function someCharge({ random, world, seed, number }: About): string {
  const known = [random.pick(world.pending), random.pick(world.paid)]
  // What the fuzzer has made is there only once it has made some.
  const made = number > ENOUGH_MADE ? [externalId(seed, random.between(0, number))] : []
  return random.pick([...known, ...made])
}

export function externalId(seed: number, number: number): string {
  return `fuzz-${seed}-${number}`
}

function chargeFields({ random, seed, number }: About): Fields {
  const optional = {
    client_phone: '+55 11 98765-4321',
    webhook_url: 'http://localhost:9/hook',
    ip: random.pick(['203.0.113.9', '2001:db8::1']),
    metadata: { order: number, nested: { list: [1, 'ç', null] } },
    utms: { source: 'fuzz', __proto: 1 },
    items: [{ name: 'Pão', price: 1.5, quantity: '2' }],
    expires_in: random.between(60, 2_592_000),
    external_id: externalId(seed, number),
  }
  return toFields({
    amount: random.between(500, 50_000),
    client_name: random.pick(['Ana', 'João d’Ávila 🦊', 'x'.repeat(255)]),
    client_email: random.pick(['ana@example.com', 'fail@example.com']),
    client_doc: random.pick([CANARY.document, '12.ABC.345/01DE-35']),
    ...Object.fromEntries(random.some(Object.entries(optional))),
  })
}

function withdrawalFields({ random, seed, number }: About): Fields {
  const [pix_key_type, pix_key] = random.pick([
    ['email', 'hold@troco.example'],
    ['cpf', CANARY.formattedDocument],
    ['phone', '+5511987654321'],
    ['random', '0190e5c8-7b9a-7c3e-8d1f-123456789abc'],
  ])
  const optional = {
    pix_key_type,
    external_id: externalId(seed, number),
    webhook_url: 'http://localhost:9/hook',
  }
  return toFields({
    amount: random.between(1_000, 5_000),
    pix_key,
    ...Object.fromEntries(random.some(Object.entries(optional))),
  })
}

function listQuery(random: Random, status: string): [string, string][] {
  return random.some([
    ['limit', `${random.between(1, 100)}`],
    ['status', random.pick(['pending', status])],
    ['created_from', '2026-01-01'],
    ['created_to', '2099-01-01T00:00:00Z'],
    ['q', 'fuzz'],
    ['external_id', externalId(1, random.between(0, 100))],
    ['cursor', '0190e5c8-7b9a-7c3e-8d1f-123456789abc'],
  ])
}

function toFields(body: Record<string, unknown>): Fields {
  return Object.entries(body).map(([key, value]) => [JSON.stringify(key), JSON.stringify(value)])
}
