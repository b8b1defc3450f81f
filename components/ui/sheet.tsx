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
