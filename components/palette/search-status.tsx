'use client'

import { useTranslations } from 'next-intl'
import { Problem } from '#components/form/problem.tsx'

interface SearchStatusProps {
  isSearching: boolean
  hitCount: number
  targetCount: number
  error: Error | null
  hasQuery: boolean
}

/** Status of the search: visible if there are no results, always announced to screen readers. */
export function SearchStatus({
  isSearching,
  hitCount,
  targetCount,
  error,
  hasQuery,
}: SearchStatusProps) {
  const t = useTranslations('palette')
  const nav = useTranslations('nav')
  const isEmpty = hitCount + targetCount === 0
  const message = isSearching
    ? t('looking')
    : isEmpty && hasQuery && !error
      ? t('nothing')
      : hasQuery
        ? nav('results', { count: hitCount + targetCount })
        : ''
  return (
    <>
      <p
        role="status"
        className={isEmpty && hasQuery && !error ? 'px-5 pt-2 pb-6 text-muted' : 'sr-only'}
      >
        {message}
      </p>
      {error ? (
        <div className="px-4 pb-4">
          <Problem error={error} />
        </div>
      ) : null}
    </>
  )
}

const SHORTCUTS = [
  ['↑↓', 'choose'],
  ['↵', 'open'],
  ['esc', 'leave'],
] as const

export function KeyboardHints() {
  const t = useTranslations('palette')
  return (
    <div
      aria-hidden
      className="flex gap-5 border-line border-t px-5 py-2.5 text-muted text-tiny max-md:hidden"
    >
      {SHORTCUTS.map(([key, word]) => (
        <span key={key} className="flex items-center gap-1.5">
          <kbd className="rounded-[5px] border border-line2 px-1.5 font-sans">{key}</kbd>
          {t(`key.${word}`)}
        </span>
      ))}
    </div>
  )
}
