'use client'

import { Languages, Monitor, Moon, Sun } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useId, useSyncExternalStore } from 'react'
import type { Api } from '#components/api/client.ts'
import { useOptionalApi } from '#components/api/use-api.ts'
import { Button } from '#components/ui/button.tsx'
import type { Locale } from '#lib/core/locale.ts'
import { LOCALE_COOKIE, THEME_COOKIE, type Theme } from '#lib/session/schema.ts'

const ICONS = { light: Sun, dark: Moon, system: Monitor }

interface ThemeSwitchProps {
  label: string
  names: Record<Theme, string>
  theme: Theme
  /** Shows names beside the icons. */
  isWide?: boolean
}

export function ThemeSwitch({ label, names, theme, isWide }: ThemeSwitchProps) {
  const api = useOptionalApi()
  const group = useId()
  const shownTheme = useSyncExternalStore(watchTheme, currentTheme, () => theme)
  const sizeClass = isWide ? 'h-9 gap-2 px-3 font-medium text-small' : 'size-8 justify-center'
  return (
    <fieldset className="inline-flex rounded-control bg-sunk p-[3px]">
      <legend className="sr-only">{label}</legend>
      {(['light', 'dark', 'system'] as const).map(value => {
        const Icon = ICONS[value]
        return (
          <label
            key={value}
            title={isWide ? undefined : names[value]}
            className={`flex items-center rounded-[8px] text-muted transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-sheet ${sizeClass}`}
          >
            <input
              type="radio"
              name={`theme-${group}`}
              className="sr-only"
              checked={value === shownTheme}
              onChange={() => setTheme(value, api)}
            />
            <Icon size={16} aria-hidden />
            <span className={isWide ? '' : 'sr-only'}>{names[value]}</span>
          </label>
        )
      })}
    </fieldset>
  )
}

interface LanguageSwitchProps {
  otherLocale: Locale
  /** Name of `otherLocale` in that language itself. */
  name: string
}

export function LanguageSwitch({ otherLocale, name }: LanguageSwitchProps) {
  const router = useRouter()
  const api = useOptionalApi()
  function choose() {
    setLocale(otherLocale, api)
    router.refresh()
  }
  return (
    <Button variant="plain" onClick={choose} lang={otherLocale}>
      <Languages size={16} aria-hidden />
      {name}
    </Button>
  )
}

const YEAR_S = 365 * 86_400
const THEME_CHANGED_EVENT = 'troco-theme'

/** Stores a choice in a cookie, so that the server renders the first page with it. */
export function storePreference(name: string, value: string): void {
  const secure = location.protocol === 'https:' ? '; Secure' : ''
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in older Safaris
  document.cookie = `${name}=${value}; Path=/; Max-Age=${YEAR_S}; SameSite=Lax${secure}`
}

/** Applies the theme in this browser and stores it in the user's profile, for other devices. */
export function setTheme(theme: Theme, api: Api | null): void {
  storePreference(THEME_COOKIE, theme)
  document.documentElement.dataset.theme = theme
  dispatchEvent(new Event(THEME_CHANGED_EVENT))
  storeInProfile({ theme }, api)
}

export function setLocale(locale: Locale, api: Api | null): void {
  storePreference(LOCALE_COOKIE, locale)
  storeInProfile({ locale }, api)
}

/** Ignores failures, because this browser's cookie already contains the choice. */
function storeInProfile(body: { theme?: Theme; locale?: Locale }, api: Api | null): void {
  api?.patch('/dashboard/profile', { body }).catch(() => {})
}

function watchTheme(onChange: () => void): () => void {
  addEventListener(THEME_CHANGED_EVENT, onChange)
  return () => removeEventListener(THEME_CHANGED_EVENT, onChange)
}

function currentTheme(): string {
  return document.documentElement.dataset.theme ?? 'system'
}
