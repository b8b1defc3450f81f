'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { TextArea } from '#components/ui/field.tsx'
import {
  ADDRESSES_MAX,
  isAddressOrRange,
  PERMISSIONS,
  type Permission,
} from '#lib/tokens/schema.ts'

type MessageKey<Name extends string> = Name extends `${infer Resource}:${infer Action}`
  ? `${Resource}_${Action}`
  : never

/** Returns the message key of a permission. Message keys contain no colon. */
export function messageKeyOf<Name extends Permission>(name: Name): MessageKey<Name> {
  return name.replace(':', '_') as MessageKey<Name>
}

function makePresets(grantable: Permission[]) {
  return {
    // Permissions that send data elsewhere or create tokens must be chosen one by one.
    all: grantable.filter(name => name !== 'webhooks:write' && name !== 'tokens:write'),
    charges: grantable.filter(name => name.startsWith('transactions:')),
    read: grantable.filter(name => name.endsWith(':read')),
  }
}

const PRESET_NAMES = ['all', 'charges', 'read'] as const

export function PermissionFields({ isWrong }: { isWrong: boolean }) {
  const t = useTranslations('tokens')
  const grantable = PERMISSIONS.filter(useHasPermission())
  const presets = makePresets(grantable)
  const [selected, setSelected] = useState<readonly Permission[]>(presets.charges)
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
            className="inline-flex min-h-9 items-center rounded-[18px] border border-line2 bg-surface px-3.5 py-1.5 text-left font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-pressed:border-accent aria-pressed:bg-accent-soft aria-pressed:text-accent"
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

interface AddressFieldProps {
  id?: string
  addresses?: string[]
  isWrong: boolean
}

/** Addresses and ranges, one per line. An error names the first line that is neither. */
export function AddressField({ id, addresses = [], isWrong }: AddressFieldProps) {
  const t = useTranslations()
  const [text, setText] = useState(() => addresses.join('\n'))
  const entries = splitAddresses(text)
  const wrong = entries.find(entry => !isAddressOrRange(entry))
  const problem =
    wrong === undefined
      ? t('tokens.addresses.tooMany', { max: ADDRESSES_MAX })
      : t('tokens.addresses.invalid', { entry: wrong })
  return (
    <TextArea
      id={id}
      label={t('tokens.addresses.label')}
      note={t('ui.optional')}
      name="allowed_addresses"
      rows={Math.min(Math.max(entries.length + 1, 2), 8)}
      className="font-mono"
      autoComplete="off"
      autoCapitalize="off"
      spellCheck={false}
      placeholder={'203.0.113.7\n2001:db8::/48'}
      value={text}
      onChange={event => setText(event.currentTarget.value)}
      hint={t('tokens.addresses.hint')}
      problem={isWrong ? problem : null}
    />
  )
}

export function readAddresses(data: FormData): string[] {
  return splitAddresses(String(data.get('allowed_addresses') ?? ''))
}

function splitAddresses(text: string): string[] {
  return text.split(/[\s,;]+/).filter(entry => entry !== '')
}

export function AddressList({ addresses }: { addresses: string[] }) {
  const t = useTranslations('tokens')
  if (addresses.length === 0) return null
  return (
    <p data-testid="addresses" className="mt-0.5 text-muted text-small">
      {t('addresses.only')}{' '}
      {addresses.map((address, index) => (
        <span key={address} className="font-mono text-[13px]">
          {address}
          {index < addresses.length - 1 ? ', ' : ''}
        </span>
      ))}
    </p>
  )
}
