'use client'

import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { setLocale } from '#components/format/preferences.ts'
import { ThemeSwitch } from '#components/nav/theme-and-language.tsx'
import { LANGUAGE_NAMES, LOCALES, type Locale } from '#lib/core/locale.ts'
import type { Theme } from '#lib/session/schema.ts'

export function PreferencesForm({ theme }: { theme: Theme }) {
  const t = useTranslations('settings')
  const locale = useLocale()
  // Marks the choice immediately, before the page is rendered in the chosen language.
  const [chosen, setChosen] = useState<Locale>(locale)
  const router = useRouter()
  const api = useApi()
  const names = { light: t('look.light'), dark: t('look.dark'), system: t('look.system') }
  return (
    <div className="flex flex-wrap gap-x-10 gap-y-5">
      <fieldset>
        <legend className="mb-1.5 font-semibold text-small">{t('look.language')}</legend>
        <div className="inline-flex rounded-control bg-sunk p-[3px]">
          {LOCALES.map(language => (
            <label
              key={language}
              lang={language}
              className="relative flex h-9 items-center rounded-[8px] px-3 font-medium text-muted text-small transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-sheet"
            >
              <input
                type="radio"
                name="language"
                className="sr-only"
                checked={language === chosen}
                onChange={() => {
                  setChosen(language)
                  setLocale(language, api)
                  router.refresh()
                }}
              />
              {LANGUAGE_NAMES[language]}
            </label>
          ))}
        </div>
      </fieldset>
      <div>
        <p aria-hidden className="mb-1.5 font-semibold text-small">
          {t('look.theme')}
        </p>
        <ThemeSwitch label={t('look.theme')} names={names} theme={theme} isWide />
      </div>
    </div>
  )
}
