import type { ZodType } from 'zod'
import type { World } from '#e2e/fuzz/world.ts'
import type { AccountlessEndpoint, Endpoint } from '#lib/http/endpoint.ts'
import { CANARY } from '#lib/testing/fixtures.ts'
import type { Random } from '#lib/testing/random.ts'
import { sampleOf } from '#lib/testing/sample.ts'

/** The fields of a body. Values are JSON text, so that they can be invalid. */
export type JsonFields = [key: string, json: string][]

export interface ValidRequest {
  params?: string[]
  query?: [name: string, value: string][]
  fields?: JsonFields
}

interface RequestContext {
  random: Random
  world: World
  seed: number
  number: number
}

/** Only this many members and endpoints are deleted, and disputes ended, so that the rest stay available. */
const DELETABLE_COUNT = 3
const ACCOUNT_PATH = '/admin/accounts/[id]'
const PASSWORD = 'quatro palavras sem nexo'
/** Has the format of a secret but is not valid. */
const INVALID_SECRET = 'x'.repeat(43)

/** Pickers of path parameters, by the path segment before the parameter. */
const ID_PICKERS: Record<string, (context: RequestContext) => string[]> = {
  transactions: context => [pickCharge(context)],
  charges: context => [pickCharge(context)],
  refunds: ({ random, world }) => random.pick(world.refunds),
  disputes: ({ random, world }) => random.pick(world.disputes),
  withdrawals: ({ random, world }) => [random.pick(world.withdrawals)],
  members: ({ random, world }) => [random.pick(world.spareMembers)],
  invitations: ({ random, world }) => [random.pick(world.invitations)],
  tokens: ({ random, world }) => [random.pick(world.spareTokens)],
  endpoints: ({ random, world }) => [random.pick(world.endpoints)],
  deliveries: ({ random, world }) => [random.pick(world.deliveries)],
  requests: ({ random, world }) => [random.pick(world.requests)],
  // The suspended account: activating it does not affect the merchants of the other requests.
  accounts: ({ world }) => [world.accounts[2] ?? ''],
}

/** Pickers by route, where the segment before the parameter is not enough. */
const PARAM_PICKERS: Record<string, (context: RequestContext) => string[]> = {
  'POST /transactions/[id]/refunds': pickPaidCharge,
  'GET /transactions/[id]/refunds': pickPaidCharge,
  'GET /transactions/[id]/refunds/[refund_id]': context => ID_PICKERS.refunds?.(context) ?? [],
  'POST /sandbox/transactions/[id]': ({ random, world }) => [random.pick(world.pending)],
  'POST /sandbox/refunds/[id]': ({ random, world }) => [random.pick(world.heldRefunds)],
  'POST /sandbox/disputes/[id]': ({ random, world }) =>
    random.pick(world.disputes.slice(0, DELETABLE_COUNT)),
  // A charge that is paid or cancelled has no image.
  'GET /transactions/[id]/qr.svg': ({ random, world }) => [random.pick(world.unpaid)],
  'GET /transactions/[id]/qr.png': ({ random, world }) => [random.pick(world.unpaid)],
  'PUT /transactions/[id]/description': ({ random, world }) => [random.pick(world.unpaid)],
  'GET /transactions/[id]/receipt.pdf': ({ random, world }) => [random.pick(world.paid)],
  'POST /dashboard/tokens/[id]/adopt': ({ random, world }) => [random.pick(world.issuedTokens)],
  'GET /withdrawals/[id]/receipt.pdf': ({ random, world }) => [random.pick(world.payouts)],
  'GET /dashboard/withdrawals/[id]/receipt': ({ random, world }) => [random.pick(world.payouts)],
  'DELETE /dashboard/members/[id]': ({ random, world }) => [
    random.pick(world.spareMembers.slice(0, DELETABLE_COUNT)),
  ],
  'DELETE /webhooks/endpoints/[id]': ({ random, world }) => [
    random.pick(world.endpoints.slice(0, DELETABLE_COUNT)),
  ],
  'PUT /pix/v2/cob/[txid]': context => [pickTxid(context)],
  'PATCH /pix/v2/cob/[txid]': context => [pickTxid(context)],
  'GET /pix/v2/cob/[txid]': context => [pickTxid(context)],
  'GET /pix/v2/pix/[e2eid]': ({ random, world }) => [random.pick(world.apiPix.payments)],
  'PUT /pix/v2/pix/[e2eid]/devolucao/[id]': pickDevolucao,
  'GET /pix/v2/pix/[e2eid]/devolucao/[id]': pickDevolucao,
  'PUT /pix/v2/webhook/[chave]': ({ world }) => [world.apiPix.key],
  'GET /pix/v2/webhook/[chave]': ({ world }) => [world.apiPix.key],
  'DELETE /pix/v2/webhook/[chave]': ({ world }) => [world.apiPix.key],
  [`PUT ${ACCOUNT_PATH}/limits`]: ({ random, world }) => [random.pick(world.accounts)],
  [`POST ${ACCOUNT_PATH}/tokens/[token_id]/revoke`]: ({ random, world }) => [
    world.accounts[0] ?? '',
    random.pick(world.spareTokens),
  ],
  [`POST ${ACCOUNT_PATH}/charges/[charge_id]/document`]: ({ random, world }) => [
    world.accounts[0] ?? '',
    random.pick(world.paid),
  ],
}

/** Returns values that a schema cannot express, by field name. */
function fieldValues({ random, world, seed, number }: RequestContext): Record<string, unknown> {
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
    secret: INVALID_SECRET,
    challenge: INVALID_SECRET,
    passkey: {
      id: INVALID_SECRET,
      rawId: INVALID_SECRET,
      type: 'public-key',
      clientExtensionResults: {},
      response: { clientDataJSON: 'e30', attestationObject: 'oA', transports: ['usb'] },
    },
  }
}

/** Builders of bodies whose values must repeat or depend on another field. */
const BODY_BUILDERS: Record<string, (context: RequestContext) => JsonFields> = {
  'POST /transactions': chargeFields,
  'POST /withdrawals': withdrawalFields,
  // A file and its name depend on each other, as do an outcome and its amount.
  'POST /disputes/[id]/evidence': ({ random }) =>
    toFields({ text: random.pick(['Entregue 🦊', 'x'.repeat(2_000)]) }),
  'POST /sandbox/disputes/[id]': ({ random }) =>
    toFields({ outcome: random.pick(['won', 'lost']) }),
  'POST /pix/oauth/token': () => toFields({ grant_type: 'client_credentials' }),
  'POST /pix/v2/cob': cobFields,
  'PUT /pix/v2/cob/[txid]': cobFields,
  'PATCH /pix/v2/cob/[txid]': ({ random }) =>
    toFields({ solicitacaoPagador: `Pedido ${random.between(1, 9)}` }),
  'PUT /pix/v2/pix/[e2eid]/devolucao/[id]': () => toFields({ valor: '0.01' }),
  'PUT /pix/v2/webhook/[chave]': () => toFields({ webhookUrl: 'http://127.0.0.1:9999/hook' }),
  'PATCH /dashboard/members/[id]': ({ random }) =>
    toFields({ role: random.pick(['finance', 'developer', 'viewer']) }),
  // Members of the fuzzer have issued no tokens to decide about.
  'DELETE /dashboard/members/[id]': () => toFields({}),
  'POST /dashboard/invitations': ({ random }) =>
    toFields({
      email: `Invited-${random.between(1, 20)}@troco.example`,
      role: random.pick(['owner', 'viewer']),
    }),
  'POST /admin/invitations': ({ random }) =>
    toFields({ email: `shop-${random.between(1, 20)}@troco.example` }),
  'POST /tokens': ({ random }) =>
    toFields({
      name: 'Loja 🦊',
      permissions: random.pick([['account:read'], ['events:read', 'refunds:write']]),
      expires_in_days: random.between(1, 365),
    }),
  'PATCH /tokens/[id]': ({ random }) =>
    toFields({ allowed_addresses: random.pick([[], ['203.0.113.7', '2001:db8::/48']]) }),
  'PATCH /dashboard/profile': ({ random }) =>
    toFields({ full_name: 'Ana', theme: random.pick(['light', 'dark', 'system']) }),
  [`PUT ${ACCOUNT_PATH}/limits`]: ({ random }) =>
    toFields({
      charge_max: random.between(500, 1_000_000),
      withdrawal_max: null,
      night_max: random.between(0, 1_000_000),
      day_max: random.between(0, 1_000_000),
    }),
  'PATCH /webhooks/endpoints/[id]': context =>
    toFields({ url: fieldValues(context).url, event_types: ['withdrawal.approved'] }),
  'POST /webhooks/deliveries/resend': ({ world }) => toFields({ from: world.since }),
  'POST /person/authenticator/confirm': () => toFields({ code: '000000' }),
  'POST /person/recovery-codes': () => toFields({ code: 'abcde-fghjk' }),
}

type Query = [name: string, value: string][]

/** Builders of queries that search or whose fields depend on each other. */
const QUERY_BUILDERS: Record<string, (context: RequestContext) => Query> = {
  'GET /pix/v2/cob': ({ random }) => periodQuery(random, [['status', 'ATIVA']]),
  'GET /pix/v2/pix': ({ random }) => periodQuery(random, [['devolucaoPresente', 'true']]),
  'GET /pix/v2/webhook': ({ random }) => periodQuery(random, []),
  'GET /dashboard/find': context => [['q', pickCharge(context)]],
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
  'GET /webhooks/deliveries': ({ random }) => deliveriesQuery(random, 'paused'),
  'GET /webhooks/deliveries/resend': ({ random, world }) => [
    ['from', world.since],
    ...deliveriesQuery(random, 'exhausted'),
  ],
  'GET /dashboard/audit': ({ random }) => auditQuery(random),
  'GET /admin/audit': ({ random }) => auditQuery(random),
  'GET /dashboard/audit/export': ({ random }) => [['locale', 'en'], ...auditQuery(random)],
  'GET /admin/audit/export': ({ random }) => [['locale', 'pt-BR'], ...auditQuery(random)],
}

type Handler = Endpoint | AccountlessEndpoint

export function makeValidRequest(
  route: string,
  context: RequestContext,
  handler: Handler,
): ValidRequest {
  const { body, query } = schemasOf(handler)
  const sample = (schema: ZodType) => sampleOf(schema, context.random, fieldValues(context))
  const sampleQuery = () =>
    Object.entries(query ? sample(query) : {}).map(([name, value]): Query[number] => [
      name,
      encodeURIComponent(`${value}`),
    ])
  const fields = BODY_BUILDERS[route]?.(context) ?? (body && toFields(sample(body)))
  const params = PARAM_PICKERS[route]?.(context) ?? paramsOf(route, context)
  return {
    params,
    query: QUERY_BUILDERS[route]?.(context) ?? sampleQuery(),
    ...(fields ? { fields } : {}),
  }
}

function schemasOf({ declared, accountlessDeclaration: access }: Handler): {
  body?: ZodType
  query?: ZodType
} {
  return declared ? { body: declared.body?.test, query: declared.query } : { ...access }
}

function paramsOf(route: string, context: RequestContext): string[] {
  return ID_PICKERS[/(\w[\w-]*)\/\[/.exec(route)?.[1] ?? '']?.(context) ?? []
}

function pickPaidCharge({ random, world }: RequestContext): string[] {
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

/** Number of requests after which charges of earlier requests exist. */
const REQUESTS_BEFORE_OWN_CHARGES = 500

function pickCharge({ random, world, seed, number }: RequestContext): string {
  const seeded = [random.pick(world.pending), random.pick(world.paid)]
  const created =
    number > REQUESTS_BEFORE_OWN_CHARGES ? [externalId(seed, random.between(0, number))] : []
  return random.pick([...seeded, ...created])
}

export function externalId(seed: number, number: number): string {
  return `fuzz-${seed}-${number}`
}

/** Few, so that charges are read, revised and put again. */
function pickTxid({ random }: RequestContext): string {
  return `fuzz${String(random.between(1, 5)).padStart(28, '0')}`
}

/** The first request that is read finds what the first that writes has made. */
function pickDevolucao({ random, world, number }: RequestContext): string[] {
  const id = number < REQUESTS_BEFORE_OWN_CHARGES ? 'd1' : `d${random.between(1, 9)}`
  return [world.apiPix.payments[0] ?? '', id]
}

function cobFields({ random, world }: RequestContext): JsonFields {
  const optional = {
    devedor: { cpf: CANARY.document, nome: 'João d’Ávila 🦊' },
    solicitacaoPagador: `Pedido ${random.between(1, 9)}`,
    infoAdicionais: [{ nome: 'Pedido', valor: 'ç' }],
  }
  return toFields({
    calendario: { expiracao: 3600 },
    valor: { original: '37.00' },
    chave: world.apiPix.key,
    ...Object.fromEntries(random.some(Object.entries(optional))),
  })
}

function periodQuery(random: Random, more: Query): Query {
  return [
    ['inicio', '2020-01-01T00:00:00Z'],
    ['fim', '2090-01-01T00:00:00Z'],
    ...random.some<[string, string]>([...more, ['paginacao.itensPorPagina', '3']]),
  ]
}

function chargeFields({ random, seed, number }: RequestContext): JsonFields {
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

function withdrawalFields({ random, seed, number }: RequestContext): JsonFields {
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

function toFields(body: Record<string, unknown>): JsonFields {
  return Object.entries(body).map(([key, value]) => [JSON.stringify(key), JSON.stringify(value)])
}
