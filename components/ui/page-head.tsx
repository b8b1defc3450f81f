import { ChevronRight } from 'lucide-react'
import Link from 'next/link'
import type { ReactNode } from 'react'

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
  /** Buttons. They have no element of their own, which would move when one of them goes. */
  children?: ReactNode
}

export function PageHead({ title, parent, beside, state, children }: PageHeadProps) {
  return (
    <div className="mb-6 flex flex-wrap items-end gap-x-3 gap-y-2 lg:mb-7 lg:min-h-11">
      <div className={`min-w-0 grow ${parent ? 'max-lg:basis-full' : ''}`}>
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
          <h1 className="min-w-0 text-balance break-words pb-1 text-head">{title}</h1>
          {state}
        </div>
      </div>
      {children}
    </div>
  )
}
