import type { ReactNode } from 'react'

export function Facts({ children }: { children: ReactNode }) {
  return (
    <dl className="grid gap-y-3 sm:grid-cols-[max-content_minmax(0,1fr)] sm:gap-x-6 xl:gap-x-10">
      {children}
    </dl>
  )
}

interface FactProps {
  name: string
  children: ReactNode
}

export function Fact({ name, children }: FactProps) {
  return (
    <div className="min-w-0 sm:contents">
      <dt className="text-muted text-small sm:leading-[1.65]">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  )
}
