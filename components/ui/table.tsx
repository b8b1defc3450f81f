import type { ComponentProps } from 'react'

/** A table for wide windows. The column widths do not depend on the content. */
export function Table(props: ComponentProps<'table'>) {
  return <table {...props} className="hidden w-full table-fixed md:table" />
}

const SIDES = { left: 'text-left', right: 'text-right' }

interface HeaderCellProps {
  width: string
  side?: keyof typeof SIDES
  children: string
}

export function HeaderCell({ width, side = 'left', children }: HeaderCellProps) {
  return (
    <th
      scope="col"
      style={{ width }}
      className={`px-[18px] py-3 font-medium text-[12.5px] text-muted ${SIDES[side]}`}
    >
      {children}
    </th>
  )
}

export function Row(props: ComponentProps<'tr'>) {
  return <tr {...props} className="relative h-[50px] border-line border-t has-[a:hover]:bg-paper" />
}

export function Cell({ className = '', ...rest }: ComponentProps<'td'>) {
  return <td {...rest} className={`px-[18px] py-2 ${className}`} />
}

/** Classes of a link that covers its whole row or card, which must have `relative`. */
export const ROW_LINK = 'after:absolute after:inset-0 hover:underline'
