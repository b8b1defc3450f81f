import localFont from 'next/font/local'

// Next's compiler requires literal arguments. Other letters are in app/fonts.css.

const text = localFont({
  src: '../../app/fonts/hanken-grotesk.woff2',
  weight: '400 700',
  variable: '--font-text',
  display: 'swap',
})

const title = localFont({
  src: '../../app/fonts/bricolage-grotesque.woff2',
  weight: '200 800',
  variable: '--font-title',
  display: 'swap',
  preload: false,
})

const code = localFont({
  src: '../../app/fonts/geist-mono.woff2',
  weight: '400 600',
  variable: '--font-code',
  display: 'swap',
  preload: false,
  adjustFontFallback: false,
})

export const fontVariables = [text, title, code].map(font => font.variable).join(' ')
