import { randomBytes } from 'node:crypto'
import { isDatabaseUnavailable, isTrocoError } from '#lib/core/errors.ts'
import { type LogContext, logFailure, withLogContext } from '#lib/core/log.ts'
import { INTERNAL_ERROR } from '#lib/core/refusals.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { Places } from '#lib/http/in-flight.ts'
import { allowanceHeaders, busyAddressHeaders, consumeAllowance } from '#lib/http/rate-limit.ts'
import { codeHeaders } from '#lib/http/response.ts'
import {
  type ErrorReason,
  type PageContent,
  renderDocument,
  renderErrorPage,
} from '#lib/payer/document.ts'
import { createPayerTexts, type PayerTexts } from '#lib/payer/texts.ts'

/** Seconds that a browser waits before it retries after a server error. */
const RETRY_AFTER_S = 5

interface PublicRequest {
  query: URLSearchParams
  texts: PayerTexts
  logContext: LogContext
}

/** Serves a page for anyone with its URL, within the limits of the client's address. */
export function servePublicPage(
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

export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

export function pageResponse(
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
