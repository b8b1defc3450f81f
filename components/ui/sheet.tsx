import type { LucideIcon } from 'lucide-react'
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

interface EmptyStateProps {
  icon: LucideIcon
  title: string
  text?: ReactNode
  children?: ReactNode
}

export function EmptyState({ icon: Icon, title, text, children }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center px-6 py-14 text-center">
      <Icon size={26} strokeWidth={1.6} aria-hidden className="text-muted" />
      <p className="mt-3 font-semibold">{title}</p>
      {text ? <p className="mt-1 max-w-[52ch] text-balance text-muted text-small">{text}</p> : null}
      {children ? <div className="mt-5 flex flex-wrap justify-center gap-2">{children}</div> : null}
    </div>
  )
}

const TONES = {
  ok: 'bg-ok-soft text-ok',
  bad: 'bg-bad-soft text-bad',
  wait: 'bg-wait-soft text-wait',
}

interface NoticeProps {
  tone: keyof typeof TONES
  icon: LucideIcon
  children: ReactNode
  role?: 'alert' | 'status'
}

export function Notice({ tone, icon: Icon, children, role }: NoticeProps) {
  return (
    <p
      role={role}
      className={`flex gap-2.5 rounded-control px-3.5 py-3 font-medium text-small ${TONES[tone]}`}
    >
      <Icon size={16} aria-hidden className="mt-0.5 shrink-0" />
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  )
}
