'use client'

import { Search } from 'lucide-react'
import { useEffect, useRef } from 'react'

const DEBOUNCE_MS = 300

interface SearchFilterProps {
  label: string
  value: string
  onSearch: (text: string) => void
}

export function SearchFilter({ label, value, onSearch }: SearchFilterProps) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => () => clearTimeout(timer.current), [])
  // The browser's back and forward change the URL, but not the value of the input.
  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = value
  }, [value])
  const search = (text: string) => {
    clearTimeout(timer.current)
    onSearch(text.trim())
  }
  return (
    <search className="min-w-0 flex-1 basis-64">
      <form
        onSubmit={event => {
          event.preventDefault()
          search(input.current?.value ?? '')
        }}
        className="relative"
      >
        <Search
          size={16}
          aria-hidden
          className="pointer-events-none absolute top-2.5 left-3 text-muted"
        />
        <input
          ref={input}
          type="search"
          name="q"
          aria-label={label}
          placeholder={label}
          defaultValue={value}
          maxLength={255}
          onChange={event => {
            const text = event.currentTarget.value
            clearTimeout(timer.current)
            timer.current = setTimeout(() => search(text), DEBOUNCE_MS)
          }}
          className="h-9 w-full rounded-chip border border-line2 bg-surface pr-3 pl-9 text-[16px] md:text-small"
        />
      </form>
    </search>
  )
}
