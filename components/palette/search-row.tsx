'use client'

import { LoaderCircle, Search, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'

/** Room for a pasted Pix code. */
export const QUERY_LENGTH_MAX = 600

export const INPUT_CLASS = 'h-14 min-w-0 flex-1 bg-transparent text-[16px] outline-none'

interface SearchRowProps {
  isBusy: boolean
  onClose: () => void
  /** The input, with INPUT_CLASS. */
  children: ReactNode
}

/** First row of the palette, the same before and after its scripts are loaded. */
export function SearchRow({ isBusy, onClose, children }: SearchRowProps) {
  const t = useTranslations('ui')
  return (
    <div className="flex items-center gap-3 border-line border-b px-4">
      {isBusy ? (
        <LoaderCircle size={18} aria-hidden className="shrink-0 animate-spin text-muted" />
      ) : (
        <Search size={18} aria-hidden className="shrink-0 text-muted" />
      )}
      {children}
      <button
        type="button"
        aria-label={t('close')}
        onClick={onClose}
        className="-mr-2 grid size-10 shrink-0 place-items-center rounded-control text-muted hover:bg-sunk hover:text-ink md:hidden"
      >
        <X size={18} aria-hidden />
      </button>
    </div>
  )
}
