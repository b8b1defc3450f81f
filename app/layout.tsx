import type { Metadata, Viewport } from 'next'
import { connection } from 'next/server'
import { getLocale, getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { fontVariables } from '#components/ui/fonts.ts'
import { readTheme } from '#lib/session/preferences.ts'
import './globals.css'

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations('app')
  return {
    title: { default: 'Troco', template: '%s · Troco' },
    description: t('description'),
    icons: '/icon.svg',
    robots: { index: false },
  }
}

export const viewport: Viewport = {
  width: 'device-width',
  initialScale: 1,
  viewportFit: 'cover',
}

export default async function RootLayout({ children }: { children: ReactNode }) {
  // A page rendered at build time would lack the nonce of its scripts.
  await connection()
  const [locale, theme] = await Promise.all([getLocale(), readTheme()])
  return (
    <html lang={locale} data-theme={theme} className={fontVariables}>
      <body>{children}</body>
    </html>
  )
}
