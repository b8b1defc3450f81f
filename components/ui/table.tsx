import type { ComponentProps, ReactNode } from 'react'

/** A table for a `ListSheet` with room for it. The column widths do not depend on the content. */
export function Table(props: ComponentProps<'table'>) {
  return <table {...props} className="hidden w-full table-fixed @table:table" />
}

/** Classes of the cells of a column that narrower tables have no space for. */
export const WIDE_ONLY = '@max-wide:hidden'

interface HeaderCellProps {
  /** A column without a width takes the space that the others leave. */
  width?: string
  className?: string
  children: ReactNode
}

export function HeaderCell({ width, className = '', children }: HeaderCellProps) {
  return (
    <th
      scope="col"
      style={{ width }}
      className={`px-3.5 py-3 text-left font-medium @wide:px-[18px] text-[12.5px] text-muted ${className}`}
    >
      {children}
    </th>
  )
}

export function Row(props: ComponentProps<'tr'>) {
  return <tr {...props} className="relative h-[50px] border-line border-t has-[a:hover]:bg-paper" />
}

export function Cell({ className = '', ...rest }: ComponentProps<'td'>) {
  return <td {...rest} className={`px-3.5 py-2 @wide:px-[18px] ${className}`} />
}

/** Limits a text to two lines, with an ellipsis at the end of longer ones. */
export const TWO_LINES = 'line-clamp-2 wrap-anywhere'

/** A code, such as a reference or an IP address: in two lines of a table, in one of a card. */
export function CodeText({ code }: { code: string }) {
  return (
    <span
      title={code}
      className={`font-mono text-[13px] text-muted leading-[1.4] ${TWO_LINES} @max-table:block @max-table:truncate`}
    >
      {code}
    </span>
  )
}

/** Classes of a link that covers its whole row or card, which must have `relative`. */
export const ROW_LINK = 'after:absolute after:inset-0 hover:underline'
