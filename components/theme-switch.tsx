'use client'

import { Monitor, Moon, Sun } from 'lucide-react'
import { keepPreference } from '#components/preferences.ts'
import { THEME_COOKIE, type Theme } from '#lib/session/schema.ts'

const ICONS = { light: Sun, dark: Moon, system: Monitor }

interface ThemeSwitchProps {
  label: string
  names: Record<Theme, string>
  theme: Theme
}

export function ThemeSwitch({ label, names, theme }: ThemeSwitchProps) {
  function choose(chosen: Theme) {
    keepPreference(THEME_COOKIE, chosen)
    document.documentElement.dataset.theme = chosen
  }
  return (
    <fieldset className="inline-flex rounded-control bg-sunk p-[3px]">
      <legend className="sr-only">{label}</legend>
      {(['light', 'dark', 'system'] as const).map(value => {
        const Icon = ICONS[value]
        return (
          <label
            key={value}
            title={names[value]}
            className="grid size-8 place-items-center rounded-[8px] text-muted transition-colors duration-150 hover:text-ink has-checked:bg-surface has-checked:text-ink has-checked:shadow-sheet"
          >
            <input
              type="radio"
              name="theme"
              className="sr-only"
              defaultChecked={value === theme}
              onChange={() => choose(value)}
            />
            <Icon size={16} aria-hidden />
            <span className="sr-only">{names[value]}</span>
          </label>
        )
      })}
    </fieldset>
  )
}
