'use client'

import { useTranslations } from 'next-intl'
import { Problem } from '#components/form/problem.tsx'

interface OutcomeProps {
  isLooking: boolean
  found: number
  targets: number
  error: Error | null
  /** The search field is not empty. */
  isAsked: boolean
}

/** Status of the search: visible when there are no results, always announced to screen readers. */
export function Outcome({ isLooking, found, targets, error, isAsked }: OutcomeProps) {
  const t = useTranslations('palette')
  const isEmpty = found + targets === 0
  const words = isLooking
    ? t('looking')
    : isEmpty && isAsked && !error
      ? t('nothing')
      : isAsked
        ? t('count', { count: found + targets })
        : ''
  return (
    <>
      <p
        role="status"
        className={isEmpty && isAsked && !error ? 'px-5 pt-2 pb-6 text-muted' : 'sr-only'}
      >
        {words}
      </p>
      {error ? (
        <div className="px-4 pb-4">
          <Problem error={error} />
        </div>
      ) : null}
    </>
  )
}

const KEYS = [
  ['↑↓', 'choose'],
  ['↵', 'open'],
  ['esc', 'leave'],
] as const

export function Hints() {
  const t = useTranslations('palette')
  return (
    <div
      aria-hidden
      className="flex gap-5 border-line border-t px-5 py-2.5 text-muted text-tiny max-md:hidden"
    >
      {KEYS.map(([key, word]) => (
        <span key={key} className="flex items-center gap-1.5">
          <kbd className="rounded-[5px] border border-line2 px-1.5 font-sans">{key}</kbd>
          {t(`key.${word}`)}
        </span>
      ))}
    </div>
  )
}
