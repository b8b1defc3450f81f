import type { ReactNode } from 'react'
import { Sheet } from '#components/ui/sheet.tsx'

interface SectionProps {
  title: string
  text: string
  children: ReactNode
}

export function Section({ title, text, children }: SectionProps) {
  return (
    <section className="grid grid-cols-[minmax(0,1fr)] gap-x-10 gap-y-3 border-line py-7 not-first:border-t first:pt-2 lg:grid-cols-[260px_minmax(0,1fr)]">
      <div>
        <h2 className="text-title">{title}</h2>
        <p className="mt-1 max-w-[56ch] text-muted text-small">{text}</p>
      </div>
      <Sheet className="px-4 py-5 md:px-6 md:py-6">{children}</Sheet>
    </section>
  )
}
