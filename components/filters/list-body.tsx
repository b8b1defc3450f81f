'use client'

import { ArrowLeft, ArrowRight, SearchX } from 'lucide-react'
import Link from 'next/link'
import { usePathname, useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Problem } from '#components/api/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { EmptyState } from '#components/ui/sheet.tsx'

export function Pager({ nextCursor }: { nextCursor: string | null }) {
  const t = useTranslations('ui')
  const path = usePathname()
  const searchParams = useSearchParams()
  const hrefFor = (cursor: string | null) => {
    const next = new URLSearchParams(searchParams)
    if (cursor) next.set('cursor', cursor)
    else next.delete('cursor')
    return `${path}?${next}`
  }
  const isFirst = !searchParams.get('cursor')
  if (isFirst && !nextCursor) return null
  return (
    <nav aria-label={t('pages')} className="mt-4 flex justify-between gap-3">
      {isFirst ? (
        <span />
      ) : (
        <Link href={hrefFor(null)} prefetch={false} className={buttonClass('quiet')}>
          <ArrowLeft size={16} aria-hidden />
          {t('newest')}
        </Link>
      )}
      {nextCursor ? (
        <Link href={hrefFor(nextCursor)} prefetch={false} className={buttonClass('quiet')}>
          {t('older')}
          <ArrowRight size={16} aria-hidden />
        </Link>
      ) : null}
    </nav>
  )
}

interface ListBodyProps {
  error: unknown
  isPending: boolean
  nextCursor: string | null
  children: ReactNode
}

export function ListBody({ error, isPending, nextCursor, children }: ListBodyProps) {
  return (
    <>
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div aria-busy={isPending} className="transition-opacity duration-150 aria-busy:opacity-60">
        {children}
        <Pager nextCursor={nextCursor} />
      </div>
    </>
  )
}

interface NoMatchesProps {
  title: string
  text: string
  clear: () => void
}

export function NoMatches({ title, text, clear }: NoMatchesProps) {
  const t = useTranslations('ui')
  return (
    <EmptyState icon={SearchX} title={title} text={text}>
      <Button variant="quiet" onClick={() => clear()}>
        {t('clearAll')}
      </Button>
    </EmptyState>
  )
}
