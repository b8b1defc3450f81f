import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

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
