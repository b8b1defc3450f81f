'use client'

import { NextIntlClientProvider, useLocale, useMessages, useTranslations } from 'next-intl'
import { Dialog } from 'radix-ui'
import { Search } from '#components/palette/search.tsx'
import { PALETTE_MESSAGES } from '#components/palette/targets.ts'
import { useReturnFocus } from '#components/ui/return-focus.ts'

interface PaletteProps {
  isAdmin: boolean
  onClose: () => void
}

export function Palette({ isAdmin, onClose }: PaletteProps) {
  const locale = useLocale()
  const messages = { ...useMessages(), ...PALETTE_MESSAGES[locale] }
  return (
    <NextIntlClientProvider locale={locale} messages={messages}>
      <Dialog.Root open onOpenChange={open => open || onClose()}>
        <Dialog.Portal>
          <Dialog.Overlay className="fixed inset-0 z-50 bg-[rgb(0_0_0/0.45)]" />
          <Dialog.Content
            onCloseAutoFocus={useReturnFocus()}
            aria-describedby={undefined}
            className="fixed inset-x-0 top-0 z-50 overflow-hidden rounded-b-sheet border border-line bg-surface text-ink shadow-over md:inset-x-auto md:top-[12vh] md:left-1/2 md:w-[min(640px,92vw)] md:-translate-x-1/2 md:rounded-sheet"
          >
            <Title />
            <Search isAdmin={isAdmin} onClose={onClose} />
          </Dialog.Content>
        </Dialog.Portal>
      </Dialog.Root>
    </NextIntlClientProvider>
  )
}

function Title() {
  const t = useTranslations('palette')
  return <Dialog.Title className="sr-only">{t('title')}</Dialog.Title>
}
