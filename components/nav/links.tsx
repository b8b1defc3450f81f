'use client'

import { LoaderCircle, Search } from 'lucide-react'
import Link, { useLinkStatus } from 'next/link'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useSyncExternalStore } from 'react'

interface NavLinkProps {
  href: string
  /** Path below `href` under which another link is current. */
  excludedPath?: string
  /** Current only at `href` itself. */
  isExact?: boolean
  icon: ReactNode
  className: string
  title?: string
  children: ReactNode
}

export function NavLink(props: NavLinkProps) {
  const { href, excludedPath, isExact, icon, className, title, children } = props
  const path = usePathname()
  const isBelow = (place: string) => path === place || (!isExact && path.startsWith(`${place}/`))
  const isCurrent = isBelow(href) && !(excludedPath && isBelow(excludedPath))
  return (
    <Link
      href={href}
      prefetch={false}
      aria-current={isCurrent ? 'page' : undefined}
      className={className}
      title={title}
      // Navigation does not close a popover by itself.
      onClick={event => event.currentTarget.closest<HTMLElement>('[popover]')?.hidePopover()}
    >
      <IconOrSpinner icon={icon} />
      {children}
    </Link>
  )
}

function IconOrSpinner({ icon }: { icon: ReactNode }) {
  const { pending } = useLinkStatus()
  return pending ? <LoaderCircle size={18} aria-hidden className="shrink-0 animate-spin" /> : icon
}

export function SearchButton() {
  const t = useTranslations('nav')
  const isApple = useSyncExternalStore(
    () => () => {},
    () => /Mac|iPhone|iPad/.test(navigator.userAgent),
    () => false,
  )
  return (
    <button
      type="button"
      onClick={openPalette}
      aria-keyshortcuts="Control+K Meta+K"
      title={t('search')}
      className="flex h-10 items-center gap-2.5 rounded-control border border-line2 bg-surface px-2.5 text-faint text-small transition-colors duration-150 hover:border-faint max-rail:w-10 max-rail:justify-center rail:w-full"
    >
      <Search size={17} aria-hidden className="shrink-0 text-muted" />
      <span className="truncate max-rail:sr-only">{t('search')}</span>
      <kbd
        aria-hidden
        className="ml-auto shrink-0 whitespace-nowrap rounded-[5px] border border-line2 px-1.5 font-sans text-muted text-tiny max-rail:hidden"
      >
        {isApple ? '⌘K' : 'Ctrl K'}
      </kbd>
    </button>
  )
}

const OPEN_EVENT = 'troco-palette'

/** Opens the page's only palette, which the layout renders, by an event. */
function openPalette(): void {
  dispatchEvent(new Event(OPEN_EVENT))
}

/** Calls `onOpen` for the search button and `onToggle` for Ctrl or ⌘ K. Returns a stop function. */
export function watchPalette(onOpen: () => void, onToggle: () => void): () => void {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    onToggle()
  }
  addEventListener(OPEN_EVENT, onOpen)
  addEventListener('keydown', onKeyDown)
  return () => {
    removeEventListener(OPEN_EVENT, onOpen)
    removeEventListener('keydown', onKeyDown)
  }
}
