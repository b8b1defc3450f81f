import type { ComponentProps, ReactNode } from 'react'

export function Sheet({ className = '', ...rest }: ComponentProps<'div'>) {
  return (
    <div
      {...rest}
      className={`rounded-sheet border border-line bg-surface shadow-sheet ${className}`}
    />
  )
}

/** Holds a list, whose rows become cards where it has no room for a table. */
export function ListSheet({ className = '', ...rest }: ComponentProps<'div'>) {
  return <Sheet {...rest} className={`@container ${className}`} />
}

export function Skeleton({ className = '' }: { className?: string }) {
  return <span aria-hidden className={`block animate-pulse rounded-[6px] bg-sunk ${className}`} />
}

interface SectionProps {
  title: string
  text?: string
  aside?: ReactNode
  children: ReactNode
}

export function Section({ title, text, aside, children }: SectionProps) {
  return (
    <Sheet className="min-w-0 px-4 py-5 md:px-6">
      <div className="flex min-h-6 items-center justify-between gap-3">
        <h2 className="text-title">{title}</h2>
        {aside ? <div className="-my-2 shrink-0">{aside}</div> : null}
      </div>
      {text ? <p className="mt-1 text-muted text-small">{text}</p> : null}
      <div className="mt-4">{children}</div>
    </Sheet>
  )
}
