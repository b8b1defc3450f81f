'use client'

import { ArrowLeft, ArrowRight } from 'lucide-react'
import Link from 'next/link'
import { usePathname, useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { buttonClass } from '#components/ui/button.tsx'

/** Leads on to older rows, and back to the newest; each page has an address of its own. */
export function Pager({ nextCursor }: { nextCursor: string | null }) {
  const t = useTranslations('ui')
  const path = usePathname()
  const given = useSearchParams()
  const at = (cursor: string | null) => {
    const next = new URLSearchParams(given)
    if (cursor) next.set('cursor', cursor)
    else next.delete('cursor')
    return `${path}?${next}`
  }
  const isFirst = !given.get('cursor')
  if (isFirst && !nextCursor) return null
  return (
    <nav className="mt-4 flex justify-between gap-3">
      {isFirst ? (
        <span />
      ) : (
        <Link href={at(null)} prefetch={false} className={buttonClass('quiet')}>
          <ArrowLeft size={16} aria-hidden />
          {t('newest')}
        </Link>
      )}
      {nextCursor ? (
        <Link href={at(nextCursor)} prefetch={false} className={buttonClass('quiet')}>
          {t('older')}
          <ArrowRight size={16} aria-hidden />
        </Link>
      ) : null}
    </nav>
  )
}
