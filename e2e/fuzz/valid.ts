import type { Random } from '#e2e/fuzz/random.ts'
import type { World } from '#e2e/fuzz/world.ts'
import { CANARY } from '#e2e/stage.ts'

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
/** Only some are deleted: the others are there to the end. */
const DELETED = 3

/** What only our own pages ask for. */
const OF_PAGES: Record<string, (about: About) => Valid> = {
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
