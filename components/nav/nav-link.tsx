'use client'

import { LoaderCircle } from 'lucide-react'
import Link, { useLinkStatus } from 'next/link'
import { usePathname } from 'next/navigation'
import type { ReactNode } from 'react'

interface NavLinkProps {
  href: string
  /** Path below `href` under which another link is current. */
  excludedPath?: string
  icon: ReactNode
  className: string
  title?: string
  children: ReactNode
}

export function NavLink({ href, excludedPath, icon, className, title, children }: NavLinkProps) {
  const path = usePathname()
  const isBelow = (place: string) => path === place || path.startsWith(`${place}/`)
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
