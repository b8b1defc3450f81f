import { randomBytes } from 'node:crypto'
import { recordChargeView } from '#lib/charges/list.ts'
import { createChargeReceiptUrl, txidsOfPage } from '#lib/charges/urls.ts'
import { isDatabaseUnavailable, isTrocoError } from '#lib/core/errors.ts'
import { type LogContext, log, logFailure, withLogContext } from '#lib/core/log.ts'
import { INTERNAL_ERROR } from '#lib/core/refusals.ts'
import { env } from '#lib/core/settings.ts'
import { limitByAddress } from '#lib/http/endpoint.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import {
  allowanceHeaders,
  busyAddressHeaders,
  consumeAllowance,
  Places,
} from '#lib/http/rate-limit.ts'
import { respondTo } from '#lib/http/respond.ts'
import { codeHeaders, json } from '#lib/http/response.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'
import { type PayableCharge, readPayableCharge, renderCharge, stateKey } from '#lib/payer/charge.ts'
import {
  createPayerTexts,
  type ErrorReason,
  type PageContent,
  type PayerTexts,
  renderDocument,
  renderErrorPage,
} from '#lib/payer/document.ts'
import { compareWithRecord, renderReceipt, renderRefusedReceipt } from '#lib/payer/receipt.ts'
import { listReceiptKeys, RECEIPT_PATH, readCurrentKey, verifyReceipt } from '#lib/receipts/sign.ts'
import { cookieNames } from '#lib/session/read.ts'

/** Seconds that a browser waits before it retries after a server error. */
const RETRY_AFTER_S = 5

interface PublicRequest {
  query: URLSearchParams
  texts: PayerTexts
  logContext: LogContext
}

/** Serves a page for anyone with its URL, within the limits of the client's address. */
function servePublicPage(
  incoming: HttpRequest,
  respond: (request: PublicRequest) => Promise<HttpResponse>,
  downReason: ErrorReason = 'down',
): Promise<HttpResponse> {
  const { url, requestId, logContext: ofFront = {} } = incoming
  const query = new URLSearchParams(url.split('?')[1])
  const texts = createPayerTexts(query.get('lang'), incoming.header('accept-language'))
  const places = new Places()
  return withLogContext(Object.assign(ofFront, { requestId }), async logContext => {
    try {
      const allowance = await consumeAllowance('ip', incoming.ip)
      await places.take('ip', incoming.ip)
      const response = await respond({ query, texts, logContext })
      Object.assign(response.headers, allowanceHeaders([allowance]))
      return response
    } catch (error) {
      return errorPage(error, texts, downReason)
    } finally {
      incoming.onEnd(() => places.release())
    }
  })
}

function errorPage(error: unknown, texts: PayerTexts, downReason: ErrorReason): HttpResponse {
  if (isTrocoError(error) && error.code === 'too_many_requests') {
    const retryAfterS = error.retryAfterS ?? 1
    const headers = { ...busyAddressHeaders(retryAfterS), ...codeHeaders(error.code) }
    return pageResponse(429, renderErrorPage('busy', texts, retryAfterS), texts, headers)
  }
  logFailure(error, 'public page failed')
  const content = renderErrorPage(downReason, texts, RETRY_AFTER_S)
  const isUnavailable = isDatabaseUnavailable(error)
  return pageResponse(isUnavailable ? 503 : INTERNAL_ERROR.status, content, texts, {
    'retry-after': String(RETRY_AFTER_S),
    ...codeHeaders(isUnavailable ? 'service_unavailable' : INTERNAL_ERROR.code),
  })
}

const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

function pageResponse(
  status: number,
  content: PageContent,
  texts: PayerTexts,
  extraHeaders = {},
): HttpResponse {
  const nonce = randomBytes(16).toString('base64')
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    status,
    text: renderDocument(content, texts, nonce),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      ...PRIVATE_HEADERS,
      ...extraHeaders,
    },
  }
}

/** User agents that fetch a link for a preview or an index, before the payer opens it. */
const PREVIEW_AGENTS = /bot\b|crawl|spider|preview|whatsapp|facebookexternalhit|slack|telegram/i

/** With `?state`, responds only with the charge's state, which the page's script polls. */
export function servePaymentPage(incoming: HttpRequest): Promise<HttpResponse> {
  return servePublicPage(incoming, async ({ query, texts, logContext }) => {
    const txids = txidsOfPage(incoming.params.id ?? '')
    const charge = txids.length === 0 ? null : await readPayableCharge(txids)
    logContext.accountId = charge?.account_id
    if (charge) return chargeResponse(charge, query.has('state'), incoming, texts)
    const headers = codeHeaders('transaction_not_found')
    return pageResponse(404, renderErrorPage('missing', texts, 0), texts, headers)
  })
}

async function chargeResponse(
  charge: PayableCharge,
  isStateRequest: boolean,
  incoming: HttpRequest,
  texts: PayerTexts,
): Promise<HttpResponse> {
  if (isStateRequest) return json(200, { state: stateKey(charge) }, PRIVATE_HEADERS)
  if (!charge.is_viewed && isOpenedByPayer(incoming)) {
    // Payers see the page even when the database accepts no writes.
    await recordChargeView(charge.account_id, charge.id).catch(error =>
      log().warn({ err: error, chargeId: charge.id }, 'recording a charge view failed'),
    )
  }
  const receiptUrl = await createChargeReceiptUrl(charge)
  return pageResponse(200, renderCharge(charge, receiptUrl, texts), texts)
}

/** Returns whether a payer opened the page: not a prefetch, preview or signed-in member. */
function isOpenedByPayer({ method, header }: HttpRequest): boolean {
  const isPrefetch = `${header('sec-purpose')} ${header('purpose')}`.includes('prefetch')
  const sessionCookie = new RegExp(`(^|; *)${cookieNames().session}=`)
  const isMember = sessionCookie.test(header('cookie') ?? '')
  return (
    method === 'GET' && !isPrefetch && !isMember && !PREVIEW_AGENTS.test(header('user-agent') ?? '')
  )
}

const CACHE_KEYS = 'public, max-age=300'

/**
 * Serves the page on which a receipt proves itself. Reads the path as it was sent: the decoded one
 * would let several URLs name a receipt. Query parameters, which messengers add, mean nothing.
 */
export function serveReceiptPage(incoming: HttpRequest): Promise<HttpResponse> {
  const respond: Parameters<typeof servePublicPage>[1] = async ({ texts }) => {
    const { PUBLIC_URL } = env()
    const [path = ''] = incoming.url.split('?')
    const verdict = await verifyReceipt(path.slice(RECEIPT_PATH.length))
    if (verdict.state !== 'signed') {
      const content = renderRefusedReceipt(verdict.state, PUBLIC_URL, texts)
      return pageResponse(404, content, texts, codeHeaders('receipt_refused'))
    }
    const { facts, keyId } = verdict
    const agreement = await compareWithRecord(facts)
    return pageResponse(200, renderReceipt({ facts, keyId, agreement }, PUBLIC_URL, texts), texts)
  }
  return servePublicPage(incoming, respond, 'receiptDown')
}

/** Serves the public keys as a JSON Web Key Set, so that others can verify receipts as well. */
function serveReceiptKeys(incoming: HttpRequest): Promise<HttpResponse> {
  return respondTo(incoming, 'field_messages', async state => {
    await limitByAddress(state)
    await readCurrentKey()
    const rows = await listReceiptKeys()
    const keys = rows.flatMap(({ id, publicKey: x, withdrawnAt }) =>
      withdrawnAt ? [] : [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', kid: id, x }],
    )
    const withdrawn = rows.flatMap(({ id, withdrawnAt }) =>
      withdrawnAt ? [{ kid: id, withdrawn_at: withdrawnAt.toISOString() }] : [],
    )
    const body = { issuer: env().PUBLIC_URL, keys, withdrawn }
    return json(200, body, { 'cache-control': CACHE_KEYS })
  })
}

const keysHandler = createRouteHandler(serveReceiptKeys)

/** Not a route file: the compiler and the linter pass over folders that begin with a dot. */
export const RECEIPT_KEYS_ROUTE = {
  handlers: new Map([
    ['GET', keysHandler],
    ['HEAD', keysHandler],
  ]),
  route: '',
  params: {},
}
