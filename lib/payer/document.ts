import { readFileSync } from 'node:fs'
import { plainColorsCss } from '#lib/core/colors.ts'
import { Html, html } from '#lib/core/html.ts'
import {
  dateFormat,
  LANGUAGE_NAMES,
  LOCALES,
  type Locale,
  languageOf,
  nextLocale,
  numberFormat,
  preferredLocale,
} from '#lib/core/locale.ts'
import { TEXT_FACE } from '#lib/core/text-face.ts'
import { PAYER_WORDS } from '#messages/words.ts'

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
}<link rel="preload" href="${TEXT_FACE.url}" as="font" type="font/woff2" crossorigin>
<link rel="icon" href="${new Html(FAVICON)}">
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

type TextKey = keyof (typeof PAYER_WORDS)[Locale]['payer']

export interface PayerTexts {
  locale: Locale
  t: (key: TextKey, values?: Record<string, string>) => string
  money: (cents: number) => MoneyParts
  moneyText: (cents: number) => string
  timeText: (at: string, timeZone: string) => string
}

interface MoneyParts {
  whole: string
  rest: string
}

/** Returns the texts in the link's language, else in the browser's. */
export function createPayerTexts(lang: string | null, acceptLanguage: string | null): PayerTexts {
  const linkLocale = LOCALES.find(known => languageOf(known) === lang)
  const locale = linkLocale ?? preferredLocale(acceptLanguage ?? '')
  const messages = PAYER_WORDS[locale].payer
  const format = numberFormat(locale, { minimumFractionDigits: 2 })
  const money = (cents: number) => {
    const text = format.format(cents / 100)
    return { whole: text.slice(0, -3), rest: text.slice(-3) }
  }
  return {
    locale,
    t: (key, values = {}) => messages[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? ''),
    money,
    moneyText: cents => `R$\u00a0${format.format(cents / 100)}`,
    timeText: (at, timeZone) =>
      dateFormat(locale, {
        dateStyle: 'medium',
        timeStyle: 'short',
        timeZone,
      }).format(new Date(at)),
  }
}

/** Length from which an amount (ten million and more) needs a smaller font on small phones. */
const LONG_AMOUNT_MIN = 10

/** Renders the amount in large type, which screen readers skip. */
export function renderAmount(cents: number, { money }: PayerTexts): Html {
  const { whole, rest } = money(cents)
  const isLong = whole.length >= LONG_AMOUNT_MIN
  return html`<p class="sum${isLong ? ' long' : ''}" aria-hidden="true"><i>R$</i>${whole}<sup>${rest}</sup></p>`
}

/** Icons from Lucide (ISC), the icon set that the dashboard uses through React. */
const SHAPES = {
  copy: '<rect width="14" height="14" x="8" y="8" rx="2"/><path d="M4 16c-1.1 0-2-.9-2-2V4c0-1.1.9-2 2-2h10c1.1 0 2 .9 2 2"/>',
  timer: '<path d="M10 2h4M12 14l3-3"/><circle cx="12" cy="14" r="8"/>',
  shield:
    '<path d="M20 13c0 5-3.5 7.5-7.66 8.95a1 1 0 0 1-.67-.01C7.5 20.5 4 18 4 13V6a1 1 0 0 1 1-1c2 0 4.5-1.2 6.24-2.72a1.17 1.17 0 0 1 1.52 0C14.51 3.81 17 5 19 5a1 1 0 0 1 1 1zM9 12l2 2 4-4"/>',
  done: '<circle cx="12" cy="12" r="10"/><path d="m16 9-5.5 5.5L8 12"/>',
  over: '<path d="M10 2h4M4.6 11a8 8 0 0 0 1.7 8.7 8 8 0 0 0 8.7 1.7M7.4 7.4a8 8 0 0 1 10.3 1 8 8 0 0 1 .9 10.2M2 2l20 20M12 12v-2"/>',
  wrong: '<circle cx="12" cy="12" r="10"/><path d="m15 9-6 6m0-6 6 6"/>',
  back: '<path d="M9 14 4 9l5-5"/><path d="M4 9h10.5a5.5 5.5 0 0 1 0 11H11"/>',
  test: '<path d="M14 2v6a2 2 0 0 0 .245.96l5.51 10.08A2 2 0 0 1 18 22H6a2 2 0 0 1-1.755-2.96l5.51-10.08A2 2 0 0 0 10 8V2M6.453 15h11.094M8.5 2h7"/>',
}
export type Icon = keyof typeof SHAPES

export function icon(name: Icon): Html {
  return new Html(`<svg class="i" viewBox="0 0 24 24" aria-hidden="true">${SHAPES[name]}</svg>`)
}

const mark = readFileSync(new URL('../../public/icon.svg', import.meta.url), 'utf8')

/** Embedded as a data URL, which saves the browser's request for a favicon. */
const FAVICON = `data:image/svg+xml,${encodeURIComponent(mark)}`

/** The dashboard's proportions, in CSS for old phones too. */
const STYLE = `
@font-face{font-family:Hanken;font-weight:400 700;font-display:swap;src:url(${TEXT_FACE.url}) format("woff2")}
*{box-sizing:border-box;margin:0}
html{background:var(--color-paper);color:var(--color-ink);font:15px/1.5 Hanken,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{display:flex;flex-direction:column;min-height:100vh;min-height:100dvh}
main{width:100%;max-width:390px;margin:0 auto;padding:26px 22px 12px;outline:0}
.r{border-top:4px solid var(--color-test);background:var(--color-test-soft);color:var(--color-test);padding:10px 22px;text-align:center;font-size:13.5px}
.r b{display:block}
.r .i{width:16px;height:16px;margin-right:6px;vertical-align:-3px}
.i{width:18px;height:18px;flex:none;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.head{text-align:center;margin-bottom:24px}
.name{font-weight:600;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.sum{font-size:46px;font-weight:700;letter-spacing:-.025em;line-height:1.25;white-space:nowrap}
.sum.long{font-size:32px}
.sum i{font-style:normal;font-weight:400;font-size:.5em;color:var(--color-muted);letter-spacing:0;margin-right:.28em}
.sum sup{font-size:.46em;letter-spacing:0;line-height:0;vertical-align:.62em}
.what{margin-top:6px;overflow-wrap:anywhere}
.ref{color:var(--color-muted);font-size:13.5px;overflow-wrap:anywhere;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}
.sheet{background:var(--color-surface);border:1px solid var(--color-line);border-radius:16px;box-shadow:0 1px 2px var(--color-lift),0 4px 12px var(--color-lift);padding:20px}
.qr{display:block;width:100%;max-width:304px;margin:0 auto;height:auto;aspect-ratio:1;background:#fff;border:1px solid var(--color-line);border-radius:12px}
.pay{display:flex;flex-direction:column}
button,.go,.also{display:flex;align-items:center;justify-content:center;gap:8px;width:100%;min-height:52px;border:0;border-radius:10px;background:var(--color-accent);color:var(--color-on-accent);font-family:inherit;font-size:16px;font-weight:600;text-decoration:none;cursor:pointer}
.also{min-height:44px;margin-top:8px;background:none;color:var(--color-accent)}
button:hover,.go:hover{filter:brightness(1.1)}
.qr{margin-top:16px}
.ways{margin-top:16px}
.items{margin-top:16px;padding-block:14px}
h2{font-size:13.5px;font-weight:400;color:var(--color-muted)}
ul{list-style:none;padding:0}
li{display:flex;justify-content:space-between;gap:16px;padding:4px 0;overflow-wrap:anywhere}
li span+span{flex:none;font-weight:500}
.items p{color:var(--color-muted);font-size:13.5px}
:focus-visible{outline:2px solid var(--color-accent);outline-offset:2px;border-radius:4px}
button:focus-visible,.go:focus-visible,.also:focus-visible{border-radius:10px}
.code{display:block;margin-top:12px;padding:10px 12px;border-radius:10px;background:var(--color-sunk);font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;-webkit-user-select:all;user-select:all}
.how{margin-top:12px;text-align:center;color:var(--color-muted);font-size:13.5px;text-wrap:balance}
.line{display:flex;align-items:center;justify-content:center;gap:10px;margin-top:20px;color:var(--color-muted);text-align:center}
.line span{text-wrap:balance}
.line b{color:var(--color-ink);font-weight:600;overflow-wrap:anywhere}
.small{font-size:13.5px}
.line.small{display:block}
.line.small b{display:block;white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.line.small .i{margin-right:8px;vertical-align:-4px}
.state{text-align:center;padding:8px 0 4px}
.badge{display:inline-flex;align-items:center;justify-content:center;width:56px;height:56px;border-radius:50%}
.badge .i{width:28px;height:28px}
.ok{background:var(--color-ok-soft);color:var(--color-ok)}.bad{background:var(--color-bad-soft);color:var(--color-bad)}.off{background:var(--color-off-soft);color:var(--color-off)}
h1{font-size:19px;line-height:1.3;letter-spacing:-.012em;margin-top:14px;text-wrap:balance}
.state p{margin-top:6px;color:var(--color-muted);overflow-wrap:anywhere;text-wrap:pretty}
dl{margin-top:18px;border-top:1px solid var(--color-line);padding-top:6px}
dl div{display:flex;justify-content:space-between;gap:16px;padding:8px 0}
dt{color:var(--color-muted);flex:none}
dd{text-align:right;font-weight:500;min-width:0;overflow-wrap:anywhere}
dd a{color:var(--color-accent)}
dl .w{display:block}.w dd{text-align:left}
.id{font:12.5px/1.7 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
footer{margin-top:auto;padding:16px 22px 22px;text-align:center;font-size:13.5px}
footer a{color:var(--color-muted);display:inline-block;padding:6px 10px}
.lost{position:fixed;inset:auto 16px 16px;max-width:390px;margin:0 auto;padding:10px 16px;border-radius:10px;background:var(--color-ink);color:var(--color-paper);font-size:13.5px;text-align:center}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
[hidden]{display:none!important}
@media(max-width:359px){main{padding-inline:14px}.sheet{padding:14px}.sum{font-size:38px}.sum.long{font-size:26px}dl div{display:block}dd{text-align:left}}
@media(min-width:600px){.pay .qr{order:-1;margin-top:0}.pay button{margin-top:16px}}
@media(max-height:600px){main{padding-top:14px}.head{margin-bottom:14px}}
@media(min-width:700px) and (min-height:820px){main{margin-block:auto}}
@media(prefers-reduced-motion:no-preference){.badge{animation:in .18s ease-out}@keyframes in{from{transform:scale(.8);opacity:0}}}
`

const STYLES = new Html(plainColorsCss(STYLE) + STYLE)

/** For browsers without scripts: shows the whole code for selection. */
const PLAIN_STYLES = new Html(
  '.js{display:none!important}.code{white-space:normal;word-break:break-all}',
)

/** Copies the code, counts down, and polls; a changed state of the charge replaces the content. */
const SCRIPT = new Html(`
(() => {
  const by = id => document.getElementById(id)
  const said = by('said'), lost = by('lost')
  let page = by('page'), ends = 0, looks = 0, failures = 0, clock, next
  const two = number => String(number).padStart(2, '0')
  const left = () => Math.max(0, Math.ceil((ends - Date.now()) / 1000))

  const count = () => {
    const shown = by('left'), s = left()
    if (!shown) return
    const days = Math.floor(s / 86400)
    const time = [s / 3600 % 24, s / 60 % 60, s % 60].map(part => two(Math.floor(part))).join(':')
    shown.textContent = days ? page.dataset.days.replace('{days}', days).replace('{time}', time) : time
    if (s > 0) clock = setTimeout(count, 1000 - (Date.now() - ends + 1e13) % 1000)
    else look()
  }

  const write = async text => {
    try {
      await navigator.clipboard.writeText(text)
      return true
    } catch {
      getSelection().selectAllChildren(by('code'))
      return document.execCommand('copy')
    }
  }

  const copy = async () => {
    const label = by('label'), words = page.dataset.copied
    const isDone = await write(by('code').textContent)
    said.textContent = isDone ? words : page.dataset.failed
    if (!isDone) return by('how').textContent = page.dataset.failed
    label.textContent = words
    setTimeout(() => {
      label.textContent = page.dataset.copy
      if (said.textContent === words) said.textContent = ''
    }, 2000)
  }

  const renew = async () => {
    const answer = await fetch(location.href, { cache: 'no-store' })
    if (!answer.ok) throw answer
    // The rest holds another nonce's styles, which this page's policy would refuse.
    const [text] = /<main[^]*<\\/main>/.exec(await answer.text())
    const fresh = new DOMParser().parseFromString(text, 'text/html')
    const hadFocus = page.contains(document.activeElement)
    const middle = document.adoptNode(fresh.getElementById('page'))
    page.replaceWith(middle)
    page = middle
    document.title = page.dataset.title
    said.textContent = page.dataset.said
    if (hadFocus) page.focus()
    begin()
  }

  const look = async () => {
    clearTimeout(next)
    if (!document.hidden) {
      try {
        const address = new URL(location.href)
        address.searchParams.set('state', '')
        const answer = await fetch(address, { cache: 'no-store' })
        if (!answer.ok) throw answer
        if ((await answer.json()).state !== page.dataset.state) await renew()
        failures = 0
      } catch {
        failures++
      }
      lost.hidden = failures < 2
      looks++
    }
    plan()
  }

  const plan = () => {
    clearTimeout(next)
    const seconds = Number(page.dataset.poll)
    if (seconds) next = setTimeout(look, seconds * (looks > 100 || failures > 2 ? 3000 : 1000))
  }

  const begin = () => {
    clearTimeout(clock)
    ends = Date.now() + page.dataset.left * 1000
    if (by('copy')) by('copy').onclick = copy
    count()
    plan()
  }

  const returned = () => { if (!document.hidden && page.dataset.poll !== '0') look() }
  document.addEventListener('visibilitychange', returned)
  addEventListener('pageshow', event => { if (event.persisted) returned() })
  begin()
})()
`)
