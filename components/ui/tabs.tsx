'use client'

import Link from 'next/link'
import { useHasPermission } from '#components/nav/permissions.tsx'
import type { AnyPermission } from '#lib/people/roles.ts'

interface Tab {
  href: string
  label: string
  isCurrent: boolean
  /** Hides the tab from members without this permission. */
  onlyFor?: AnyPermission
}

interface TabsProps {
  label: string
  tabs: Tab[]
}

export function Tabs({ label, tabs }: TabsProps) {
  const hasPermission = useHasPermission()
  const offered = tabs.filter(({ onlyFor }) => onlyFor === undefined || hasPermission(onlyFor))
  return (
    <nav aria-label={label} className="flex flex-wrap gap-x-6 border-line border-b">
      {offered.map(({ href, label: name, isCurrent }) => (
        <Link
          key={href}
          href={href}
          prefetch={false}
          aria-current={isCurrent ? 'page' : undefined}
          className="-mb-px inline-flex h-10 items-center border-transparent border-b-2 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-[current]:border-accent aria-[current]:font-semibold aria-[current]:text-ink"
        >
          {name}
        </Link>
      ))}
    </nav>
  )
}
