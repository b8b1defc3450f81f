import { randomBytes } from 'node:crypto'
import { isDatabaseUnavailable, isTrocoError } from '#lib/base/errors.ts'
import { log, withLogContext } from '#lib/base/log.ts'
import type { HttpRequest, HttpResponse } from '#lib/edge/http/exchange.ts'
import { Places } from '#lib/edge/http/in-flight.ts'
import {
  allowanceHeaders,
  busyAddressHeaders,
  consumeAllowance,
} from '#lib/edge/http/rate-limit.ts'
import { json } from '#lib/edge/http/response.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { txidsOfPage } from '#lib/rooms/charges/payment-url.ts'
import { recordChargeView } from '#lib/rooms/charges/view.ts'
import { renderCharge, stateKey } from '#lib/views/payer/charge.ts'
import { type PageContent, renderDocument, renderErrorPage } from '#lib/views/payer/document.ts'
import { type PayableCharge, readPayableCharge } from '#lib/views/payer/read.ts'
import { createPayerTexts, type PayerTexts } from '#lib/views/payer/texts.ts'

/** Seconds that a browser waits before it retries after a server error. */
const RETRY_AFTER_S = 5
/** User agents that fetch a link for a preview or an index, before the payer opens it. */
const PREVIEW_AGENTS = /bot\b|crawl|spider|preview|whatsapp|facebookexternalhit|slack|telegram/i

/** With `?state`, responds only with the charge's state, which the page's script polls. */
export function servePaymentPage(incoming: HttpRequest): Promise<HttpResponse> {
  const { url, requestId } = incoming
  const query = new URLSearchParams(url.split('?')[1])
  const texts = createPayerTexts(query.get('lang'), incoming.header('accept-language'))
  const places = new Places()
  return withLogContext({ requestId }, async logContext => {
    try {
      const allowance = await consumeAllowance('ip', incoming.ip)
      await places.take('ip', incoming.ip)
      const txids = txidsOfPage(incoming.params.id ?? '')
      const charge = txids.length === 0 ? null : await readPayableCharge(txids)
      logContext.accountId = charge?.account_id
      const response = charge
        ? await chargeResponse(charge, query.has('state'), incoming, texts)
        : pageResponse(404, renderErrorPage('missing', texts, 0), texts)
      Object.assign(response.headers, allowanceHeaders([allowance]))
      return response
    } catch (error) {
      return errorPage(error, texts)
    } finally {
      incoming.onEnd(() => places.release())
    }
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
  return pageResponse(200, renderCharge(charge, texts), texts)
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

function errorPage(error: unknown, texts: PayerTexts): HttpResponse {
  if (isTrocoError(error) && error.code === 'too_many_requests') {
    const retryAfterS = error.retryAfterS ?? 1
    const headers = busyAddressHeaders(retryAfterS)
    return pageResponse(429, renderErrorPage('busy', texts, retryAfterS), texts, headers)
  }
  const isDatabaseDown = isDatabaseUnavailable(error)
  log().error({ err: error }, isDatabaseDown ? 'database unavailable' : 'payment page failed')
  const content = renderErrorPage('down', texts, RETRY_AFTER_S)
  return pageResponse(isDatabaseDown ? 503 : 500, content, texts, {
    'retry-after': String(RETRY_AFTER_S),
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
