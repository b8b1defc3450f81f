import { randomBytes } from 'node:crypto'
import { isDatabaseUnavailable, isTrocoError } from '#lib/base/errors.ts'
import { log, withLogContext } from '#lib/base/log.ts'
import { json } from '#lib/edge/http/answer.ts'
import type { Answer, Incoming } from '#lib/edge/http/exchange.ts'
import { allowanceHeaders, spentAllowance, takeAllowance } from '#lib/edge/http/rate-limit.ts'
import { cookieNames } from '#lib/edge/session/cookie.ts'
import { txidsOfPage } from '#lib/rooms/charges/payment-url.ts'
import { viewCharge } from '#lib/rooms/charges/view.ts'
import { showCharge, stateKey } from '#lib/views/payer/charge.ts'
import { documentOf, type Shown, showRefusal } from '#lib/views/payer/document.ts'
import { type PayableCharge, readPayable } from '#lib/views/payer/read.ts'
import { type Words, wordsFor } from '#lib/views/payer/words.ts'

/** Seconds that a browser waits before it retries after a server error. */
const RETRY_AFTER_S = 5
/** User agents that fetch a link for a preview or an index, before the payer opens it. */
const PREVIEWS = /bot\b|crawl|spider|preview|whatsapp|facebookexternalhit|slack|telegram/i

/** Serves the payer's page, or with `?state` only its charge's state, for the page's script. */
export function servePayer(incoming: Incoming): Promise<Answer> {
  const { url, requestId } = incoming
  const query = new URLSearchParams(url.split('?')[1])
  const words = wordsFor(query.get('lang'), incoming.header('accept-language'))
  return withLogContext({ requestId }, async noted => {
    try {
      const allowance = await takeAllowance('ip', incoming.ip)
      const txids = txidsOfPage(incoming.params.id ?? '')
      const charge = txids.length === 0 ? null : await readPayable(txids)
      noted.accountId = charge?.account_id
      const said = charge
        ? await answerCharge(charge, query.has('state'), incoming, words)
        : page(404, showRefusal('missing', words, 0), words)
      Object.assign(said.headers, allowanceHeaders([allowance]))
      return said
    } catch (error) {
      return refuse(error, words)
    }
  })
}

async function answerCharge(
  charge: PayableCharge,
  isLook: boolean,
  incoming: Incoming,
  words: Words,
): Promise<Answer> {
  if (isLook) return json(200, { state: stateKey(charge) }, PRIVATE)
  if (!charge.is_viewed && isOpenedByPayer(incoming)) {
    // Payers see the page even when the database accepts no writes.
    await viewCharge(charge.account_id, charge.id).catch(error =>
      log().warn({ err: error, chargeId: charge.id }, 'recording a charge view failed'),
    )
  }
  return page(200, showCharge(charge, words), words)
}

/** Returns whether a payer opened the page: not a prefetch, preview or signed-in member. */
function isOpenedByPayer({ method, header }: Incoming): boolean {
  const isAhead = `${header('sec-purpose')} ${header('purpose')}`.includes('prefetch')
  const ours = new RegExp(`(^|; *)${cookieNames().session}=`)
  const isMember = ours.test(header('cookie') ?? '')
  return method === 'GET' && !isAhead && !isMember && !PREVIEWS.test(header('user-agent') ?? '')
}

function refuse(error: unknown, words: Words): Answer {
  if (isTrocoError(error) && error.code === 'too_many_requests') {
    const retryAfterS = error.retryAfterS ?? 1
    const headers = allowanceHeaders([spentAllowance('ip', retryAfterS)])
    return page(429, showRefusal('busy', words, retryAfterS), words, {
      ...headers,
      'retry-after': String(retryAfterS),
    })
  }
  const isGone = isDatabaseUnavailable(error)
  log().error({ err: error }, isGone ? 'database unavailable' : 'payment page failed')
  const shown = showRefusal('down', words, RETRY_AFTER_S)
  return page(isGone ? 503 : 500, shown, words, { 'retry-after': String(RETRY_AFTER_S) })
}

const PRIVATE = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
}

function page(status: number, shown: Shown, words: Words, more = {}): Answer {
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
    text: documentOf(shown, words, nonce),
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy.join('; '),
      ...PRIVATE,
      ...more,
    },
  }
}
