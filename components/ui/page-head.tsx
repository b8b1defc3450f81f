import { ChevronRight } from 'lucide-react'
import Link from 'next/link'
import type { ReactNode } from 'react'
import { SearchButton } from '#components/nav/search-button.tsx'

interface PageHeadProps {
  title: ReactNode
  /** The parent page, and what is shown beside its name (a reference, a chip). */
  above?: { href: string; label: string }
  beside?: ReactNode
  children?: ReactNode
  /** Hides the title on phones, where the content comes first. */
  isTitleForDesk?: boolean
  /** For the operator's pages, which have no account to search in. */
  isOfStaff?: boolean
}

export function PageHead(props: PageHeadProps) {
  const { title, above, beside, children, isTitleForDesk, isOfStaff } = props
  return (
    <div className="mb-6 flex flex-wrap items-end gap-x-3 gap-y-3 md:mb-7 md:min-h-11">
      <div className="min-w-0 flex-1 basis-60">
        {above ? (
          <nav className="mb-1 flex min-h-7 flex-wrap items-center gap-x-2 text-muted text-small">
            <Link href={above.href} prefetch={false} className="hover:text-ink">
              {above.label}
            </Link>
            {beside ? <ChevronRight size={14} aria-hidden /> : null}
            {beside}
          </nav>
        ) : null}
        <h1 className={`text-head ${isTitleForDesk ? 'max-md:sr-only' : ''}`}>{title}</h1>
      </div>
      <div className="flex flex-wrap items-center gap-3">
        {isOfStaff ? null : <SearchButton />}
        {children}
      </div>
    </div>
  )
}
