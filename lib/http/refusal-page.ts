import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { TrocoError } from '#lib/core/errors.ts'
import { Html, html } from '#lib/core/html.ts'
import { LOCALES, preferredLocale } from '#lib/core/locale.ts'
import type { HttpResponse } from '#lib/http/exchange.ts'
import { headersOf, refusalResponse } from '#lib/http/response.ts'
import { readCookie } from '#lib/session/read.ts'
import { LOCALE_COOKIE } from '#lib/session/schema.ts'
import { REFUSAL_WORDS } from '#messages/words.ts'

/** Refusal of a request for a page; one with a reason has a page of its own for browsers. */
export interface PageRefusal {
  error: TrocoError
  reason?: 'malformed' | 'long' | 'busy' | 'overloaded'
  headers?: Record<string, string>
}

const STYLES = new Html(
  ':root{color-scheme:light dark}' +
    'body{max-width:28rem;margin:18vh auto;padding:0 1.5rem;font:16px/1.5 system-ui,sans-serif}' +
    'h1{font-size:1.35rem;line-height:1.3}',
)
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLES.text).digest('base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
}

/** Builds the response: HTML if the caller asks for it, as browsers do for pages, else JSON. */
export function buildPageRefusal(refusal: PageRefusal, request: IncomingHttpHeaders): HttpResponse {
  const { error, reason } = refusal
  const asJson = refusalResponse(error)
  const headers = { ...headersOf(error), ...refusal.headers }
  if (!reason || !request.accept?.includes('text/html')) {
    return { ...asJson, headers: { ...asJson.headers, ...headers } }
  }
  const chosen = readCookie(request.cookie ?? '', LOCALE_COOKIE)
  const locale =
    LOCALES.find(known => known === chosen) ?? preferredLocale(request['accept-language'] ?? '')
  const words = REFUSAL_WORDS[locale].refusal
  const t = (key: keyof typeof words) =>
    words[key].replace('{seconds}', headers['retry-after'] ?? '')
  const { text } = html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${t(`${reason}Title`)}</title>
<style>${STYLES}</style>
</head>
<body>
<h1>${t(`${reason}Title`)}</h1>
<p>${t(`${reason}Text`)}</p>
<p><a href="/">${t('home')}</a></p>
</body>
</html>
`
  return { status: asJson.status, text, headers: { ...PAGE_HEADERS, ...headers } }
}
