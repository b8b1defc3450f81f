import type { ComponentProps } from 'react'

export function Sheet({ className = '', ...rest }: ComponentProps<'div'>) {
  return (
    <div
      {...rest}
      className={`rounded-sheet border border-line bg-surface shadow-sheet ${className}`}
    />
  )
}

export function Skeleton({ className = '' }: { className?: string }) {
  return <span aria-hidden className={`block animate-pulse rounded-[6px] bg-sunk ${className}`} />
}
