'use client'

import { type KeyboardEvent, useEffect, useId, useState } from 'react'

export interface Option {
  key: string
  onSelect: () => void
}

/** Properties of the element of an option. */
export type OptionProps = (option: Option) => {
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
