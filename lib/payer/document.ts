import { Html, html } from '#lib/core/html.ts'
import { LANGUAGE_NAMES, languageOf, nextLocale } from '#lib/core/locale.ts'
import { FAVICON, icon } from '#lib/payer/icons.ts'
import { SCRIPT } from '#lib/payer/script.ts'
import { PLAIN_STYLES, STYLES } from '#lib/payer/styles.ts'
import type { PayerTexts } from '#lib/payer/texts.ts'

export interface PageContent {
  title: string
  main: Html
  /** Title and text of the line that marks a test; null in live mode. */
  ribbon: [title: string, text: string] | null
  /** Seconds until a browser without scripts reloads; 0: never. */
  refreshS: number
  hasScript: boolean
  /** What a messenger shows of a shared link; nothing about the payer. */
  preview?: { title: string; text: string }
}

/** Renders the whole page: one style, at most one script, nothing from other hosts. */
export function renderDocument(
  content: PageContent,
  { locale, t }: PayerTexts,
  nonce: string,
): string {
  const { title, main, ribbon, refreshS, hasScript, preview } = content
  const refresh = refreshS > 0 && html`<meta http-equiv="refresh" content="${refreshS}">`
  const next = nextLocale(locale)
  const otherLanguage = languageOf(next)
  return html`<!doctype html>
<html lang="${locale}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<title>${title}</title>
${
  preview !== undefined &&
  html`<meta name="description" content="${preview.text}">
<meta property="og:type" content="website">
<meta property="og:title" content="${preview.title}">
<meta property="og:description" content="${preview.text}">
`
}<link rel="icon" href="${new Html(FAVICON)}">
<style nonce="${nonce}">${STYLES}</style>
${hasScript ? html`<noscript><style nonce="${nonce}">${PLAIN_STYLES}</style>${refresh}</noscript>` : refresh}
</head>
<body>
${ribbon && html`<aside class="r" data-testid="test-ribbon"><b>${icon('test')}${ribbon[0]}</b>${ribbon[1]}</aside>`}
${main}
<footer><a href="?lang=${otherLanguage}" lang="${otherLanguage}" hreflang="${otherLanguage}">${LANGUAGE_NAMES[next]}</a></footer>
${
  hasScript &&
  html`<p id="said" class="sr" role="status"></p>
<p id="lost" class="lost" role="status" hidden>${t('lost')}</p>
<script nonce="${nonce}">${SCRIPT}</script>`
}
</body>
</html>
`.text
}

export type ErrorReason = 'missing' | 'busy' | 'down' | 'receiptDown'

export function renderErrorPage(
  reason: ErrorReason,
  { t }: PayerTexts,
  retryAfterS: number,
): PageContent {
  const title = t(reason)
  const main = html`<main id="page"><div class="sheet"><div class="state"><span class="badge off">${icon(
    reason === 'missing' ? 'wrong' : 'timer',
  )}</span><h1>${title}</h1><p>${t(`${reason}Text`)}</p></div></div></main>`
  return { title, main, ribbon: null, refreshS: retryAfterS, hasScript: false }
}
