'use client'

import { ChevronDown, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Menu } from '#components/ui/menu.tsx'
import type { MenuChoices } from '#components/ui/menu-content.tsx'

const CHIP_CLASS =
  'inline-flex h-9 items-center gap-1.5 whitespace-nowrap border bg-surface font-medium text-small transition-colors duration-150'
const UNSET_CLASS = 'border-line2 text-muted hover:text-ink'
const SET_CLASS = 'border-accent bg-accent-soft text-accent'

interface FilterChipProps {
  label: string
  /** The chosen value, translated; null when the filter is not set. */
  value: string | null
  onClear: () => void
  /** The translation of "any" that agrees with the label. */
  anyLabel?: string
  menu: MenuChoices
}

export function FilterChip({ label, value, onClear, anyLabel, menu }: FilterChipProps) {
  const t = useTranslations('ui')
  const stateClass = value === null ? UNSET_CLASS : SET_CLASS
  return (
    <span className="inline-flex max-w-full shrink-0">
      <Menu
        {...menu}
        align="start"
        trigger={
          <button
            type="button"
            className={`${CHIP_CLASS} ${stateClass} min-w-0 px-3.5 ${value === null ? 'rounded-chip' : 'rounded-l-chip border-r-0 pr-2'}`}
          >
            <span className="truncate">
              {label}: {value ?? anyLabel ?? t('any')}
            </span>
            {value === null ? <ChevronDown size={14} aria-hidden className="shrink-0" /> : null}
          </button>
        }
      />
      {value === null ? null : (
        <button
          type="button"
          onClick={onClear}
          aria-label={`${t('clear')}: ${label}`}
          className={`${CHIP_CLASS} ${stateClass} rounded-r-chip border-l-0 pr-3 pl-1`}
        >
          <X size={15} aria-hidden />
        </button>
      )}
    </span>
  )
}

interface ChoiceFilterProps {
  label: string
  value: string
  choices: { value: string; label: string }[]
  anyLabel?: string
  /** '' clears the filter. */
  onChoose: (value: string) => void
}

export function ChoiceFilter({ label, value, choices, anyLabel, onChoose }: ChoiceFilterProps) {
  const t = useTranslations('ui')
  const chosen = choices.find(choice => choice.value === value)
  const anyChoice = { value: '', label: anyLabel ?? t('any') }
  return (
    <FilterChip
      label={label}
      value={chosen?.label ?? null}
      onClear={() => onChoose('')}
      anyLabel={anyLabel}
      menu={{ value: chosen?.value ?? '', choices: [anyChoice, ...choices], onChoose }}
    />
  )
}

interface ClearOnlyFilterProps {
  label: string
  value: string
  onClear: () => void
}

/** A filter set elsewhere, such as by a link: the chip can only clear the filter. */
export function ClearOnlyFilter({ label, value, onClear }: ClearOnlyFilterProps) {
  const t = useTranslations('ui')
  return (
    <span className="inline-flex max-w-full">
      <span className={`${CHIP_CLASS} ${SET_CLASS} min-w-0 rounded-l-chip border-r-0 pr-1 pl-3.5`}>
        {label}: <span className="truncate">{value}</span>
      </span>
      <button
        type="button"
        onClick={onClear}
        aria-label={`${t('clear')}: ${label}`}
        className={`${CHIP_CLASS} ${SET_CLASS} rounded-r-chip border-l-0 pr-3 pl-1`}
      >
        <X size={15} aria-hidden />
      </button>
    </span>
  )
}
