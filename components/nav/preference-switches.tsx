import { getLocale, getTranslations } from 'next-intl/server'
import { LanguageSwitch, ThemeSwitch } from '#components/nav/preferences.tsx'
import { LANGUAGE_NAMES, nextLocale } from '#lib/core/locale.ts'
import { readTheme } from '#lib/session/preferences.ts'

export async function PreferenceSwitches() {
  const [t, locale, theme] = await Promise.all([
    getTranslations('preferences'),
    getLocale(),
    readTheme(),
  ])
  const otherLocale = nextLocale(locale)
  const names = { light: t('light'), dark: t('dark'), system: t('system') }
  return (
    <div className="flex items-center justify-between gap-2">
      <LanguageSwitch otherLocale={otherLocale} name={LANGUAGE_NAMES[otherLocale]} />
      <ThemeSwitch label={t('theme')} names={names} theme={theme} />
    </div>
  )
}
