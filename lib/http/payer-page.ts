import { txidsOfPage } from '#lib/charges/payment-url.ts'
import { recordChargeView } from '#lib/charges/view.ts'
import { log } from '#lib/core/log.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { PRIVATE_HEADERS, pageResponse, servePublicPage } from '#lib/http/public-page.ts'
import { codeHeaders, json } from '#lib/http/response.ts'
import { renderCharge, stateKey } from '#lib/payer/charge.ts'
import { renderErrorPage } from '#lib/payer/document.ts'
import { type PayableCharge, readPayableCharge } from '#lib/payer/read.ts'
import type { PayerTexts } from '#lib/payer/texts.ts'
import { cookieNames } from '#lib/session/cookie.ts'

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
