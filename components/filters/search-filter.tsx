'use client'

import { Search } from 'lucide-react'
import { useSearchParams } from 'next/navigation'
import { useEffect, useRef } from 'react'

const DEBOUNCE_MS = 300

/** Matches all but a whole token, which a form without scripts would put into the URL. */
const NO_WHOLE_TOKEN = '(?!\\s*troco_(test|live)_\\w{10}).*'

interface SearchFilterProps {
  label: string
  /** Parameter of the URL. */
  name?: string
  value: string
  onSearch: (text: string) => void
}

/** Searches as the user types. Without scripts it is a form that keeps the other filters. */
export function SearchFilter({ label, name = 'q', value, onSearch }: SearchFilterProps) {
  const searchParams = useSearchParams()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const input = useRef<HTMLInputElement>(null)
  const search = (text: string) => {
    clearTimeout(timer.current)
    onSearch(text.trim())
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: adopts once what was typed before hydration
  useEffect(() => {
    if (input.current?.form) input.current.form.noValidate = true
    if (input.current && input.current.value.trim() !== value.trim()) search(input.current.value)
    return () => clearTimeout(timer.current)
  }, [])
  const lastValue = useRef(value)
  // The browser's back and forward change the URL, but not the value of the input.
  useEffect(() => {
    if (value === lastValue.current) return
    lastValue.current = value
    if (input.current && document.activeElement !== input.current) input.current.value = value
  }, [value])
  const otherFilters = [...new Map(searchParams)].filter(
    ([key]) => key !== name && key !== 'cursor',
  )
  return (
    <search className="min-w-0 flex-1 basis-64">
      <form
        method="get"
        onSubmit={event => {
          event.preventDefault()
          search(input.current?.value ?? '')
        }}
        className="relative"
      >
        {otherFilters.map(([key, filter]) => (
          <input key={key} type="hidden" name={key} value={filter} />
        ))}
        <Search
          size={16}
          aria-hidden
          className="pointer-events-none absolute top-2.5 left-3 text-muted"
        />
        <input
          ref={input}
          type="search"
          name={name}
          pattern={NO_WHOLE_TOKEN}
          aria-label={label}
          placeholder={label}
          defaultValue={value}
          maxLength={255}
          onChange={event => {
            const text = event.currentTarget.value
            clearTimeout(timer.current)
            timer.current = setTimeout(() => search(text), DEBOUNCE_MS)
          }}
          className="h-9 w-full rounded-chip border border-line2 bg-surface text-ellipsis pr-3 pl-9 text-[16px] md:text-small"
        />
      </form>
    </search>
  )
}
