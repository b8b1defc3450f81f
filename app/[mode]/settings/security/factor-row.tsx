import type { LucideIcon } from 'lucide-react'
import type { ReactNode } from 'react'

interface FactorRowProps {
  icon: LucideIcon
  title: string
  text: string
  state?: ReactNode
  /** What can be done about it. */
  children: ReactNode
  below?: ReactNode
}

/** One way to show who one is, whether it is on, and what to do about it. */
export function FactorRow({ icon: Icon, title, text, state, children, below }: FactorRowProps) {
  return (
    <div className="border-line py-5 not-first:border-t">
      <div className="flex flex-wrap items-start gap-x-5 gap-y-3">
        <Icon size={18} aria-hidden className="mt-0.5 shrink-0 text-muted max-sm:hidden" />
        <div className="min-w-0 flex-1 basis-60">
          <h3 className="flex flex-wrap items-center gap-x-2.5 gap-y-1 font-semibold">
            {title}
            {state}
          </h3>
          <p className="mt-1 max-w-[60ch] text-muted text-small">{text}</p>
        </div>
        {children}
      </div>
      {below}
    </div>
  )
}
