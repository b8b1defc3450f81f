import type { ComponentProps } from 'react'

/** White paper with a hairline. */
export function Sheet({ className = '', ...rest }: ComponentProps<'div'>) {
  return (
    <div
      {...rest}
      className={`rounded-sheet border border-line bg-surface shadow-sheet ${className}`}
    />
  )
}

/** The place of something that is still being read. */
export function Skeleton({ className = '' }: { className?: string }) {
  return <span aria-hidden className={`block animate-pulse rounded-[6px] bg-sunk ${className}`} />
}
