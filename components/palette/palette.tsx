'use client'

import { NextIntlClientProvider, useLocale, useMessages } from 'next-intl'
import { Search, type SearchProps } from '#components/palette/search.tsx'
import { PALETTE_MESSAGES } from '#components/palette/targets.ts'

export function Palette(props: SearchProps) {
  const locale = useLocale()
  const messages = { ...useMessages(), ...PALETTE_MESSAGES[locale] }
  return (
    <NextIntlClientProvider locale={locale} messages={messages}>
      <Search {...props} />
    </NextIntlClientProvider>
  )
}
