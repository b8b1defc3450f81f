import type { ZodType } from 'zod'
import type { Random } from '#e2e/fuzz/random.ts'
import type { World } from '#e2e/fuzz/world.ts'
import type { AccountlessEndpoint } from '#lib/edge/http/door.ts'
import type { Endpoint } from '#lib/edge/http/endpoint.ts'
import { sampleOf } from '#lib/testing/sample.ts'
import { CANARY } from '#lib/testing/stage.ts'

/** The fields of a body. Values are JSON text, so that they can be invalid. */
export type Fields = [key: string, json: string][]

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

/** Only these are deleted; the others stay. */
const DELETED = 3
const ACCOUNT = '/admin/accounts/[id]'
const PASSWORD = 'quatro palavras sem nexo'
/** Has the form of a secret and matches none. */
const NO_SECRET = 'x'.repeat(43)

/** Ids by the path segment before them. */
const IDS: Record<string, (about: About) => string[]> = {
  transactions: about => [someCharge(about)],
  charges: about => [someCharge(about)],
  refunds: ({ random, world }) => random.pick(world.refunds),
  withdrawals: ({ random, world }) => [random.pick(world.withdrawals)],
  members: ({ random, world }) => [random.pick(world.spareMembers)],
  invitations: ({ random, world }) => [random.pick(world.invitations)],
  tokens: ({ random, world }) => [random.pick(world.spareTokens)],
  endpoints: ({ random, world }) => [random.pick(world.endpoints)],
  deliveries: ({ random, world }) => [random.pick(world.deliveries)],
  // The third account: no other operation uses it.
  accounts: ({ world }) => [world.accounts[2] ?? ''],
}

/** Routes for which that segment is not enough. */
const PARAMS: Record<string, (about: About) => string[]> = {
  'POST /transactions/[id]/refunds': paidCharge,
  'GET /transactions/[id]/refunds': paidCharge,
  'GET /transactions/[id]/refunds/[refund_id]': about => IDS.refunds?.(about) ?? [],
  'DELETE /dashboard/members/[id]': ({ random, world }) => [
    random.pick(world.spareMembers.slice(0, DELETED)),
  ],
  'DELETE /dashboard/webhooks/endpoints/[id]': ({ random, world }) => [
    random.pick(world.endpoints.slice(0, DELETED)),
  ],
  [`PUT ${ACCOUNT}/limits`]: ({ random, world }) => [random.pick(world.accounts)],
  [`POST ${ACCOUNT}/tokens/[token_id]/revoke`]: ({ random, world }) => [
    world.accounts[0] ?? '',
    random.pick(world.spareTokens),
  ],
  [`POST ${ACCOUNT}/charges/[charge_id]/document`]: ({ random, world }) => [
    world.accounts[0] ?? '',
    random.pick(world.paid),
  ],
}

/** Values by field name that a schema cannot express. */
function named({ random, world, seed, number }: About): Record<string, unknown> {
  return {
    email: `fuzz-${seed}-${number}@troco.example`,
    url: 'http://127.0.0.1:9999/hook',
    from: world.since,
    reason: 'fuzz',
    full_name: 'Ana',
    account_name: 'Outra 🦊',
    name: random.pick(['Loja 🦊', 'João d’Ávila']),
    code: random.pick(['000201', 'hello', '00020126']) + random.between(0, 9_999),
    current: 'girassol verde 88',
    password: PASSWORD,
    secret: NO_SECRET,
    challenge: NO_SECRET,
    passkey: {
      id: NO_SECRET,
      rawId: NO_SECRET,
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
    },
  }
}

/** Bodies with values that must repeat or that depend on another field. */
const FIELDS: Record<string, (about: About) => Fields> = {
  'POST /transactions': chargeFields,
  'POST /withdrawals': withdrawalFields,
  'PATCH /dashboard/members/[id]': ({ random }) =>
    toFields({ role: random.pick(['finance', 'developer', 'viewer']) }),
  'POST /dashboard/invitations': ({ random }) =>
    toFields({
      email: `Invited-${random.between(1, 20)}@troco.example`,
      role: random.pick(['owner', 'viewer']),
    }),
  'POST /admin/invitations': ({ random }) =>
    toFields({ email: `shop-${random.between(1, 20)}@troco.example` }),
  'POST /dashboard/tokens': ({ random }) =>
    toFields({
      name: 'Loja 🦊',
      permissions: random.pick([['account:read'], ['events:read', 'refunds:write']]),
      expires_in_days: random.between(1, 365),
    }),
  'PATCH /dashboard/profile': ({ random }) =>
    toFields({ full_name: 'Ana', theme: random.pick(['light', 'dark', 'system']) }),
  [`PUT ${ACCOUNT}/limits`]: ({ random }) =>
    toFields({
      charge_max: random.between(500, 1_000_000),
      withdrawal_max: null,
      night_max: random.between(0, 1_000_000),
    }),
  'PATCH /dashboard/webhooks/endpoints/[id]': about =>
    toFields({ url: named(about).url, event_types: ['withdrawal.approved'] }),
  'POST /dashboard/webhooks/deliveries/resend': ({ world }) => toFields({ from: world.since }),
  'POST /person/authenticator/confirm': () => toFields({ code: '000000' }),
  'POST /person/recovery-codes': () => toFields({ code: 'abcde-fghjk' }),
}

type Query = [name: string, value: string][]

/** Queries with fields that depend on each other or that search. */
const QUERIES: Record<string, (about: About) => Query> = {
  'GET /dashboard/find': about => [['q', someCharge(about)]],
  'GET /dashboard/home': ({ random }) =>
    random.some([
      ['period', random.pick(['7d', '90d', 'custom'])],
      ['from', '2026-01-31'],
      ['to', '2026-02-28'],
    ]),
  'GET /dashboard/statement/export': ({ random }) => [
    ['format', random.pick(['csv', 'ofx'])],
    ['locale', random.pick(['pt-BR', 'en'])],
    ...random.some<[string, string]>([
      ['period', random.pick(['7d', 'all', 'custom'])],
      ['from', '2026-01-01'],
      ['to', '2026-12-31'],
    ]),
  ],
  'GET /dashboard/webhooks/deliveries': ({ random }) => deliveriesQuery(random, 'paused'),
  'GET /dashboard/webhooks/deliveries/resend': ({ random, world }) => [
    ['from', world.since],
    ...deliveriesQuery(random, 'exhausted'),
  ],
  'GET /dashboard/audit': ({ random }) => auditQuery(random),
  'GET /admin/audit': ({ random }) => auditQuery(random),
}

type Handler = Endpoint | AccountlessEndpoint

export function makeValid(route: string, about: About, handler: Handler): Valid {
  const { body, query } = schemasOf(handler)
  const take = (schema: ZodType) => sampleOf(schema, about.random, named(about))
  const asked = () =>
    Object.entries(query ? take(query) : {}).map(([name, value]): Query[number] => [
      name,
      encodeURIComponent(`${value}`),
    ])
  const fields = FIELDS[route]?.(about) ?? (body && toFields(take(body)))
  const params = PARAMS[route]?.(about) ?? paramsOf(route, about)
  return { params, query: QUERIES[route]?.(about) ?? asked(), ...(fields ? { fields } : {}) }
}

function schemasOf({ declared, access: opens }: Handler): { body?: ZodType; query?: ZodType } {
  return declared ? { body: declared.body?.test, query: declared.query } : { ...opens }
}

function paramsOf(route: string, about: About): string[] {
  return IDS[/(\w[\w-]*)\/\[/.exec(route)?.[1] ?? '']?.(about) ?? []
}

function paidCharge({ random, world }: About): string[] {
  return [random.pick(world.paid)]
}

function deliveriesQuery(random: Random, status: string): Query {
  return random.some<[string, string]>([
    ['status', status],
    ['type', random.pick(['transaction.*', 'withdrawal.*'])],
    ['endpoint_id', 'none'],
    ['reference', 'order-1'],
  ])
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

/** After this many requests, charges of earlier requests exist. */
const ENOUGH_MADE = 500

function someCharge({ random, world, seed, number }: About): string {
  const known = [random.pick(world.pending), random.pick(world.paid)]
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

function toFields(body: Record<string, unknown>): Fields {
  return Object.entries(body).map(([key, value]) => [JSON.stringify(key), JSON.stringify(value)])
}
