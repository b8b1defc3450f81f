'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { makePresets, messageKeyOf } from '#app/[mode]/settings/tokens/permissions.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { DEFAULT_PERMISSIONS, PERMISSIONS, type Permission } from '#lib/tokens/schema.ts'

const PRESET_NAMES = ['all', 'charges', 'read'] as const

export function PermissionFields({ isWrong }: { isWrong: boolean }) {
  const t = useTranslations('tokens')
  const grantable = PERMISSIONS.filter(useHasPermission())
  const presets = makePresets(grantable)
  const [selected, setSelected] = useState<readonly Permission[]>(() =>
    grantable.filter(name => DEFAULT_PERMISSIONS.includes(name)),
  )
  const isSelected = (preset: readonly Permission[]) =>
    preset.length === selected.length && preset.every(name => selected.includes(name))
  const select = (name: Permission, isChecked: boolean) =>
    setSelected(
      grantable.filter(permission =>
        permission === name ? isChecked : selected.includes(permission),
      ),
    )
  return (
    <fieldset aria-describedby="permissions-note">
      <legend className="mb-1.5 font-semibold text-small">{t('new.permissions')}</legend>
      <p
        id="permissions-note"
        className={isWrong ? 'font-medium text-bad text-small' : 'text-muted text-small'}
      >
        {isWrong ? t('new.permissionsProblem') : t('new.advice')}
      </p>
      <div className="my-3.5 flex flex-wrap gap-2">
        {PRESET_NAMES.map(name => (
          <button
            key={name}
            type="button"
            aria-pressed={isSelected(presets[name])}
            onClick={() => setSelected(presets[name])}
            className="inline-flex h-9 items-center rounded-chip border border-line2 bg-surface px-3.5 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
          >
            {t(`new.preset.${name}`)}
          </button>
        ))}
      </div>
      <ul className="rounded-control border border-line2">
        {grantable.map(name => (
          <li key={name} className="border-line not-first:border-t">
            <label className="flex min-h-11 items-center gap-3 px-3.5 py-2">
              <input
                type="checkbox"
                name="permissions"
                value={name}
                checked={selected.includes(name)}
                onChange={event => select(name, event.currentTarget.checked)}
                className="size-[18px] shrink-0 accent-accent"
              />
              <span className="min-w-0 flex-1">{t(`new.does.${messageKeyOf(name)}`)}</span>
              <code className="font-mono text-[12.5px] text-muted max-sm:hidden">{name}</code>
            </label>
          </li>
        ))}
      </ul>
      {grantable.length < PERMISSIONS.length ? (
        <p className="mt-2 text-muted text-small">{t('new.limited')}</p>
      ) : null}
    </fieldset>
  )
}
