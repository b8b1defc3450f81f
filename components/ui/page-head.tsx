import { ChevronRight } from 'lucide-react'
import Link from 'next/link'
import type { ReactNode } from 'react'
import { SearchButton } from '#components/nav/links.tsx'

const SHORT_ID_LENGTH = 8

interface OwnCodeProps {
  /** The merchant's own reference, if any. */
  reference: string | null
  id: string
}

/** A code for `beside`: the reference, or the end of the id. */
export function OwnCode({ reference, id }: OwnCodeProps) {
  return (
    <span className="max-w-[36ch] truncate font-mono text-[13px] max-md:max-w-[16ch]">
      {reference ?? `…${id.slice(-SHORT_ID_LENGTH)}`}
    </span>
  )
}

interface PageHeadProps {
  title: ReactNode
  parent?: { href: string; label: string }
  /** A code in the breadcrumbs. */
  beside?: ReactNode
  /** A chip beside the title. */
  state?: ReactNode
  children?: ReactNode
  isTitleDesktopOnly?: boolean
}

export function PageHead(props: PageHeadProps) {
  const { title, parent, beside, state, children, isTitleDesktopOnly } = props
  return (
    <div className="mb-6 grid grid-cols-[minmax(0,1fr)_auto] items-end gap-x-3 lg:mb-7 lg:flex lg:min-h-11 lg:flex-wrap lg:gap-y-3">
      <div className="min-w-0 lg:grow">
        {parent ? (
          <nav className="mb-1 flex min-h-7 flex-wrap items-center gap-x-2 text-muted text-small">
            <Link
              href={parent.href}
              prefetch={false}
              className="min-w-0 break-words hover:text-ink"
            >
              {parent.label}
            </Link>
            {beside ? <ChevronRight size={14} aria-hidden /> : null}
            {beside}
          </nav>
        ) : null}
        <div className="flex flex-wrap items-center gap-x-3">
          <h1
            className={`min-w-0 text-balance break-words pb-1 text-head ${isTitleDesktopOnly ? 'max-lg:sr-only' : ''}`}
          >
            {title}
          </h1>
          {state}
        </div>
      </div>
      <div className="max-lg:contents lg:flex lg:flex-wrap lg:items-center lg:gap-3">
        <SearchButton />
        {children ? (
          <div className="flex flex-wrap items-center gap-3 max-lg:col-span-2 max-lg:mt-2 max-lg:empty:hidden">
            {children}
          </div>
        ) : null}
      </div>
    </div>
  )
}
