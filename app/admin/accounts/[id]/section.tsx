import type { ReactNode } from 'react'
import { Sheet } from '#components/ui/sheet.tsx'

interface SectionProps {
  title: string
  text?: string
  /** At the right of the title. */
  aside?: ReactNode
  children: ReactNode
}

/** A part of one of the operator's pages. */
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
