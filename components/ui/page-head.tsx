import { ChevronRight } from 'lucide-react'
import Link from 'next/link'
import type { ReactNode } from 'react'
import { SearchButton } from '#components/nav/search-button.tsx'

interface PageHeadProps {
  title: ReactNode
  parent?: { href: string; label: string }
  beside?: ReactNode
  children?: ReactNode
  isTitleDesktopOnly?: boolean
  /** Hides the search button, for the operator's pages, which have no account. */
  isStaffPage?: boolean
}

export function PageHead(props: PageHeadProps) {
  const { title, parent, beside, children, isTitleDesktopOnly, isStaffPage } = props
  return (
    <div className="mb-6 flex flex-wrap items-end gap-x-3 gap-y-3 md:mb-7 md:min-h-11">
      <div className="min-w-0 flex-1 basis-60">
        {parent ? (
          <nav className="mb-1 flex min-h-7 flex-wrap items-center gap-x-2 text-muted text-small">
            <Link href={parent.href} prefetch={false} className="hover:text-ink">
              {parent.label}
            </Link>
            {beside ? <ChevronRight size={14} aria-hidden /> : null}
            {beside}
          </nav>
        ) : null}
        <h1 className={`text-head ${isTitleDesktopOnly ? 'max-md:sr-only' : ''}`}>{title}</h1>
      </div>
      <div className="flex flex-wrap items-center gap-3">
        {isStaffPage ? null : <SearchButton />}
        {children}
      </div>
    </div>
  )
}
