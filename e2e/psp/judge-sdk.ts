import * as sdk from 'sdk-node-apis-efi'
import { type Exchange, TEST_CLIENT } from './traffic.ts'

interface Schema {
  safeParse(value: unknown): { error?: { message: string } }
}

interface Schemas {
  params?: Schema
  body?: Schema
  response?: Schema
}

/** Schemas of Efí's SDK for the calls that Troco uses, by method and route. */
const SCHEMAS: Record<string, Schemas> = {
  'PUT /v2/cob/:txid': {
    params: sdk.PixCreateChargeParamsSchema,
    body: sdk.PixCreateChargeBodySchema,
    response: sdk.PixCreateChargeResponseSchema,
  },
  'PATCH /v2/cob/:txid': {
    params: sdk.PixUpdateChargeParamsSchema,
    body: sdk.PixUpdateChargeBodySchema,
    response: sdk.PixUpdateChargeResponseSchema,
  },
  'GET /v2/cob/:txid': {
    params: sdk.PixDetailChargeParamsSchema,
    response: sdk.PixDetailChargeResponseSchema,
  },
  'GET /v2/cob': {
    params: sdk.PixListChargesParamsSchema,
    response: sdk.PixListChargesResponseSchema,
  },
  'GET /v2/pix/:e2eid': {
    params: sdk.PixDetailReceivedParamsSchema,
    response: sdk.PixDetailReceivedResponseSchema,
  },
  'GET /v2/pix': {
    params: sdk.PixListReceivedParamsSchema,
    response: sdk.PixListReceivedResponseSchema,
  },
  'PUT /v2/pix/:e2eid/devolucao/:id': {
    params: sdk.PixDevolutionParamsSchema,
    body: sdk.PixDevolutionBodySchema,
    response: sdk.PixDevolutionResponseSchema,
  },
  'GET /v2/pix/:e2eid/devolucao/:id': {
    params: sdk.PixDetailDevolutionParamsSchema,
    response: sdk.PixDetailDevolutionResponseSchema,
  },
  'PUT /v2/webhook/:chave': {
    params: sdk.PixConfigWebhookParamsSchema,
    body: sdk.PixConfigWebhookBodySchema,
    response: sdk.PixConfigWebhookResponseSchema,
  },
  'GET /v2/webhook/:chave': {
    params: sdk.PixDetailWebhookParamsSchema,
    response: sdk.PixDetailWebhookResponseSchema,
  },
  'DELETE /v2/webhook/:chave': { params: sdk.PixDeleteWebhookParamsSchema },
  'GET /v2/webhook': {
    params: sdk.PixListWebhookParamsSchema,
    response: sdk.PixListWebhookResponseSchema,
  },
  'POST /v2/loc': {
    body: sdk.PixCreateLocationBodySchema,
    response: sdk.PixCreateLocationResponseSchema,
  },
  'GET /v2/loc': {
    params: sdk.PixLocationListParamsSchema,
    response: sdk.PixLocationListResponseSchema,
  },
  'GET /v2/loc/:id': {
    params: sdk.PixDetailLocationParamsSchema,
    response: sdk.PixDetailLocationResponseSchema,
  },
  'DELETE /v2/loc/:id/txid': {
    params: sdk.PixUnlinkTxidLocationParamsSchema,
    response: sdk.PixUnlinkTxidLocationResponseSchema,
  },
  'PUT /v3/gn/pix/:idEnvio': {
    params: sdk.PixSendParamsSchema,
    body: sdk.PixSendBodySchema,
    response: sdk.PixSendResponseSchema,
  },
  'GET /v2/gn/pix/enviados/id-envio/:idEnvio': {
    params: sdk.PixSendDetailIdParamsSchema,
    response: sdk.PixSendDetailIdResponseSchema,
  },
  'GET /v2/gn/pix/enviados/:e2eid': {
    params: sdk.PixSendDetailParamsSchema,
    response: sdk.PixSendDetailResponseSchema,
  },
  'GET /v2/gn/pix/enviados': {
    params: sdk.PixSendListParamsSchema,
    response: sdk.PixSendListResponseSchema,
  },
  'GET /v2/gn/saldo': {
    params: sdk.GetAccountBalanceParamsSchema,
    response: sdk.GetAccountBalanceResponseSchema,
  },
  'PUT /v2/gn/config': { body: sdk.UpdateAccountConfigBodySchema },
  'GET /v2/gn/config': { response: sdk.ListAccountConfigResponseSchema },
  'GET /v2/gn/chaves/balde': { response: sdk.PixKeysBucketResponseSchema },
  'GET /v2/gn/infracoes': { params: sdk.MedListParamsSchema, response: sdk.MedListResponseSchema },
  'POST /v2/gn/infracoes/:idInfracao/defesa': {
    params: sdk.MedSubmitDefenseParamsSchema,
    body: sdk.MedSubmitDefenseBodySchema,
  },
  'POST /v2/gn/relatorios/extrato-conciliacao': {
    body: sdk.CreateReportBodySchema,
    response: sdk.CreateReportResponseSchema,
  },
  'GET /v2/gn/relatorios/:id': {
    params: sdk.DetailReportParamsSchema,
    response: sdk.DetailReportResponseSchema,
  },
  'POST /v2/gn/webhook/reenviar': { body: sdk.PixResendWebhookBodySchema },
}

const TOKEN_ROUTE = '/oauth/token'

export const JUDGED_ROUTES = Object.keys(SCHEMAS)

/** Whether the SDK has schemas for the call. */
export function isKnownToSdk({ kind, to, method, route }: Exchange): boolean {
  return kind === 'efi' && to === 'bank' && `${method} ${route}` in SCHEMAS
}

/** Whether a program has called Efí without a schema that could judge the call. Tokens have none. */
function isUnjudged(exchange: Exchange): boolean {
  const { kind, to, route, requestHeaders } = exchange
  const isByProgram = requestHeaders['user-agent'] !== TEST_CLIENT
  return kind === 'efi' && to === 'bank' && route !== TOKEN_ROUTE && isByProgram
}

/** Holds one exchange with the bank against the SDK's schemas; returns the objections. */
export function judgeExchange(exchange: Exchange): string[] {
  const { method, target, route, requestBody, responseBody } = exchange
  if (!isKnownToSdk(exchange))
    return isUnjudged(exchange)
      ? [`${method} ${target}: no schema of the SDK is about this call`]
      : []
  const readResponse = () => (isCsv(exchange) ? responseBody : parse(responseBody))
  const schemas = SCHEMAS[`${method} ${route}`] ?? {}
  const isDone = isSuccess(exchange)
  const isJudged = isRequestJudged(exchange)
  const objections = [
    ['parameters', isJudged ? check(schemas.params, readParams(exchange)) : null],
    ['request', isJudged ? check(schemas.body, parse(requestBody)) : null],
    ['response', isDone && responseBody ? check(schemas.response, readResponse()) : null],
  ].filter(([, objection]) => objection !== null)
  return objections.map(([part, objection]) => `${method} ${route}, ${part}: ${objection}`)
}

const ORDERS = ['/v3/gn/pix/:idEnvio', '/v2/gn/relatorios/extrato-conciliacao']

/**
 * Not judged are wrong requests that the bank refused: those of the tests' own client, and the payout and
 * the report of nothing by which a check of a connection learns whether it may order them.
 */
export function isRequestJudged(exchange: Exchange): boolean {
  const { route, requestHeaders, requestBody } = exchange
  const isByTest = requestHeaders['user-agent'] === TEST_CLIENT
  const isOfNothing = ORDERS.includes(route ?? '') && requestBody === '{}'
  return isSuccess(exchange) || !(isByTest || isOfNothing)
}

/** Only these responses have schemas: not errors, and not what a fault or quirk changed. */
export function isSuccess({ status, fault }: Exchange): boolean {
  return status !== null && status < 300 && fault !== 'respond' && fault !== 'quirk'
}

/**
 * Rewrites what Efí documents and its SDK's schemas refuse: the name of a payout's end-to-end id, the
 * payee's identity, the nature of a return, and a list of webhooks without times.
 */
export function withoutDisagreements(exchange: Exchange): Exchange {
  const isWebhookList = exchange.route === '/v2/webhook' && !exchange.target.includes('?')
  if (!isKnownToSdk(exchange) || !isSuccess(exchange) || isCsv(exchange)) return exchange
  const responseBody = exchange.responseBody && JSON.stringify(parse(exchange.responseBody), rename)
  const target = isWebhookList ? `${exchange.target}?inicio=&fim=` : exchange.target
  return { ...exchange, target, responseBody }
}

const UNKNOWN_TO_SDK = ['identificacao', 'natureza']

/** Called by JSON.stringify for each property. */
function rename(name: string, value: unknown): unknown {
  if (UNKNOWN_TO_SDK.includes(name)) return undefined
  const { e2eId, ...others } = (value ?? {}) as { e2eId?: unknown }
  return e2eId === undefined ? value : { ...others, endToEndId: e2eId }
}

function check(schema: Schema | undefined, value: unknown): string | null {
  return schema?.safeParse(value).error?.message ?? null
}

function isCsv({ responseHeaders }: Exchange): boolean {
  return (responseHeaders['content-type'] ?? '').startsWith('text/csv')
}

function parse(text: string): unknown {
  return text === '' ? undefined : JSON.parse(text)
}

/** Names that the SDK gives to parameters of paths, where the bank has another. */
const SDK_NAMES: Record<string, string> = { e2eid: 'e2eId' }

/** Reads the parameters of path and query with the types that the SDK expects. */
function readParams({ target, route }: Exchange): Record<string, unknown> {
  const { pathname, searchParams } = new URL(target, 'https://bank')
  const values = pathname.split('/')
  const inPath = (route ?? '').split('/').flatMap((name, index) => {
    if (!name.startsWith(':')) return []
    const plain = name.slice(1)
    return [[SDK_NAMES[plain] ?? plain, decodeURIComponent(values[index] ?? '')] as const]
  })
  const typed = [...inPath, ...searchParams].map(([name, text]) => [name, readValue(name, text)])
  return Object.fromEntries(typed)
}

function readValue(name: string, text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true'
  const isNumber = name.startsWith('paginacao.') || name === 'revisao' || /^\d{1,9}$/.test(text)
  return isNumber ? Number(text) : text
}
