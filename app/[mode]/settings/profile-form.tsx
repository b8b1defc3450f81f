'use client'

import { useRouter } from 'next/navigation'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { editFormProps, SaveButton, useForm } from '#components/form/form.tsx'
import { setLocale, ThemeSwitch } from '#components/nav/preferences.tsx'
import { Field } from '#components/ui/field.tsx'
import { LANGUAGE_NAMES, LOCALES, type Locale } from '#lib/core/locale.ts'
import { profileChange } from '#lib/people/schema.ts'
import type { Theme } from '#lib/session/schema.ts'

/** The form requires a name; the API does not. */
const schema = profileChange.test.required({ full_name: true })

export function ProfileForm({ name }: { name: string }) {
  const t = useTranslations('settings')
  const api = useApi()
  const router = useRouter()
  const [stored, setStored] = useState(name)
  const [current, setCurrent] = useState(name)
  const [isSaved, setSaved] = useState(false)
  const form = useForm({
    schema,
    read: data => ({ full_name: String(data.get('full_name')).trim() || undefined }),
    send: async body => {
      await api.patch('/dashboard/profile', { body })
      setStored(body.full_name)
      setCurrent(body.full_name)
      setSaved(true)
      router.refresh()
    },
  })
  const isUnchanged = current === stored
  return (
    <form
      {...editFormProps(form, isUnchanged, data => {
        setSaved(false)
        setCurrent(String(data.get('full_name')).trim())
      })}
      className="grid gap-5"
    >
      <Field
        label={t('profile.name')}
        name="full_name"
        maxLength={100}
        autoComplete="name"
        defaultValue={name}
        problem={form.problems.full_name ? t('profile.nameInvalid') : null}
      />
      <SaveButton
        isBusy={form.isBusy}
        isSaved={isSaved}
        failure={form.failure}
        isUnchanged={isUnchanged}
      />
    </form>
  )
}

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
