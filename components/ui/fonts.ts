import localFont from 'next/font/local'

// Next's compiler requires literal arguments. Letters beyond Latin-1 are in app/fonts.css.

const text = localFont({
  src: '../../node_modules/@fontsource-variable/hanken-grotesk/files/hanken-grotesk-latin-wght-normal.woff2',
  weight: '100 900',
  variable: '--font-text',
  display: 'swap',
})

const title = localFont({
  src: '../../node_modules/@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-wght-normal.woff2',
  weight: '200 800',
  variable: '--font-title',
  display: 'swap',
  preload: false,
})

const code = localFont({
  src: '../../node_modules/@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2',
  weight: '100 900',
  variable: '--font-code',
  display: 'swap',
  preload: false,
  adjustFontFallback: false,
})

export const fontVariables = [text, title, code].map(font => font.variable).join(' ')
