'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { TextArea } from '#components/ui/field.tsx'
import { ADDRESSES_MAX, isAddressOrRange } from '#lib/tokens/schema.ts'

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
