'use client'

import {
  ArrowUpRight,
  Ban,
  Building2,
  Check,
  CircleX,
  Clock,
  KeyRound,
  type LucideIcon,
  QrCode,
  Undo2,
  Webhook,
  X,
} from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type KeyboardEvent, type ReactNode, useEffect, useId, useState } from 'react'
import { Money } from '#components/format/format.tsx'
import type { PaletteTarget } from '#components/palette/targets.ts'
import { CHARGE_STATUS_STYLES, WITHDRAWAL_STATUS_STYLES } from '#components/status/state-chips.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { Hit } from '#lib/dashboard/schema.ts'

const ICONS: Record<Hit['kind'], LucideIcon> = {
  charge: QrCode,
  withdrawal: ArrowUpRight,
  refund: Undo2,
  delivery: Webhook,
  event: Webhook,
  token: KeyRound,
  account: Building2,
}

const STATUS_STYLES = {
  ...CHARGE_STATUS_STYLES,
  ...WITHDRAWAL_STATUS_STYLES,
  completed: { tone: 'ok', icon: Check },
  delivered: { tone: 'ok', icon: Check },
  active: { tone: 'ok', icon: Check },
  stopped: { tone: 'off', icon: CircleX },
  account_active: { tone: 'ok', icon: Check },
  account_pending: { tone: 'wait', icon: Clock },
  account_suspended: { tone: 'bad', icon: Ban },
  revoked: { tone: 'off', icon: Ban },
  exhausted: { tone: 'bad', icon: X },
} satisfies Record<string, { tone: Tone; icon: LucideIcon }>

function isKnownStatus(status: string): status is keyof typeof STATUS_STYLES {
  return status in STATUS_STYLES
}

const ITEM_CLASS =
  'flex min-h-11 cursor-pointer select-none items-center gap-2.5 rounded-control px-2.5 py-1.5 aria-selected:bg-sunk'

interface HitItemProps {
  hit: Hit
  option: ReturnType<OptionProps>
}

export function HitItem({ hit, option }: HitItemProps) {
  const t = useTranslations('palette')
  const { kind, label, detail, amount, status } = hit
  const Icon = ICONS[kind]
  return (
    <div {...option} className={ITEM_CLASS}>
      <Icon size={17} strokeWidth={1.8} aria-hidden className="shrink-0 text-muted" />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{label}</span>
        <span className="block truncate text-muted text-small">
          {t(`kind.${kind}`)}
          {detail ? <span className="ml-1.5 font-mono text-[12.5px]">{detail}</span> : null}
        </span>
      </span>
      <span className="flex shrink-0 items-center gap-3 max-sm:flex-col max-sm:items-end max-sm:gap-0.5">
        {amount === null ? null : (
          <span className="font-semibold">
            <Money cents={amount} />
          </span>
        )}
        {isKnownStatus(status) ? (
          <Chip {...STATUS_STYLES[status]}>{t(`status.${status}`)}</Chip>
        ) : null}
      </span>
    </div>
  )
}

export function hitKey({ kind, id }: Hit): string {
  return `${kind} ${id}`
}

interface GroupProps {
  heading: string
  children: ReactNode
}

export function Group({ heading, children }: GroupProps) {
  const id = useId()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has no place in a listbox
    <div role="group" aria-labelledby={id}>
      <div id={id} aria-hidden className="px-2.5 pt-2.5 pb-1 text-[12.5px] text-muted">
        {heading}
      </div>
      {children}
    </div>
  )
}

interface TargetGroupProps {
  heading: string
  targets: PaletteTarget[]
  optionOf: (target: PaletteTarget) => ReturnType<OptionProps>
}

export function TargetGroup({ heading, targets, optionOf }: TargetGroupProps) {
  const t = useTranslations('palette')
  if (targets.length === 0) return null
  return (
    <Group heading={heading}>
      {targets.map(target => {
        const { name, icon: Icon } = target
        return (
          <div key={name} {...optionOf(target)} className={ITEM_CLASS}>
            <Icon size={17} strokeWidth={1.8} aria-hidden className="shrink-0 text-muted" />
            <span className="min-w-0 truncate">{t(`target.${name}`)}</span>
          </div>
        )
      })}
    </Group>
  )
}

interface Option {
  key: string
  onSelect: () => void
}

/** Properties of the element of an option. */
type OptionProps = (option: Option) => {
  role: 'option'
  id: string
  'aria-selected': boolean
  onPointerMove: () => void
  onClick: () => void
}

const STEPS: Record<string, (index: number, count: number) => number> = {
  ArrowDown: (index, count) => (index + 1) % count,
  ArrowUp: (index, count) => (index - 1 + count) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/**
 * Lets the keys of an input choose among the options of a list, as WAI-ARIA describes for a combobox.
 * Unless another one was chosen, the first option is selected.
 */
export function useListbox(options: Option[]) {
  const listId = useId()
  const [chosenKey, select] = useState<string | null>(null)
  const chosen = options.findIndex(({ key }) => key === chosenKey)
  const index = Math.max(chosen, 0)
  const selected = options[index]
  const idOf = (key: string) => `${listId}-${options.findIndex(option => option.key === key)}`
  const selectedId = selected && idOf(selected.key)
  useEffect(() => {
    if (selectedId) document.getElementById(selectedId)?.scrollIntoView({ block: 'nearest' })
  }, [selectedId])
  function onKeyDown(event: KeyboardEvent) {
    // While a letter is composed, the keys belong to the input method.
    if (event.defaultPrevented || event.nativeEvent.isComposing || !selected) return
    const step = STEPS[event.key]
    if (event.key === 'Enter') selected.onSelect()
    else if (step) select(options[step(index, options.length)]?.key ?? null)
    else return
    event.preventDefault()
  }
  const optionProps: OptionProps = ({ key, onSelect }) => ({
    role: 'option',
    id: idOf(key),
    'aria-selected': key === selected?.key,
    onPointerMove: () => select(key),
    onClick: onSelect,
  })
  const inputProps = {
    role: 'combobox',
    'aria-expanded': true,
    'aria-autocomplete': 'list',
    'aria-controls': listId,
    'aria-activedescendant': selectedId,
  } as const
  return { inputProps, listId, optionProps, onKeyDown, select }
}
