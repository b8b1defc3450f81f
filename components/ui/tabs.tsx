'use client'

import Link from 'next/link'

interface TabsProps {
  label: string
  tabs: { href: string; label: string; isCurrent: boolean }[]
}

/** Pages that belong together, as chips. */
export function Tabs({ label, tabs }: TabsProps) {
  return (
    <nav aria-label={label} className="flex flex-wrap gap-2">
      {tabs.map(({ href, label: name, isCurrent }) => (
        <Link
          key={href}
          href={href}
          prefetch={false}
          aria-current={isCurrent ? 'page' : undefined}
          className="inline-flex h-9 items-center rounded-chip border border-line2 bg-surface px-3.5 font-medium text-muted text-small transition-colors duration-150 hover:text-ink aria-[current]:border-accent aria-[current]:bg-accent-soft aria-[current]:text-accent"
        >
          {name}
        </Link>
      ))}
    </nav>
  )
}
