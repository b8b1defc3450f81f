import { getLocale, getTranslations } from 'next-intl/server'
import { LanguageSwitch, ThemeSwitch } from '#components/nav/preference-switches.tsx'
import { readTheme } from '#lib/edge/session/preferences.ts'

/** Language and theme, side by side. */
export async function Switches() {
  const [t, locale, theme] = await Promise.all([
    getTranslations('preferences'),
    getLocale(),
    readTheme(),
  ])
  const names = { light: t('light'), dark: t('dark'), system: t('system') }
  return (
    <div className="flex items-center justify-between gap-2">
      <LanguageSwitch other={locale === 'en' ? 'pt-BR' : 'en'} name={t('otherLanguage')} />
      <ThemeSwitch label={t('theme')} names={names} theme={theme} />
    </div>
  )
}
