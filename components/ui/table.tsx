import type { ComponentProps } from 'react'

/** A table for a `ListSheet` with room for it. The column widths do not depend on the content. */
export function Table(props: ComponentProps<'table'>) {
  return <table {...props} className="hidden w-full table-fixed @table:table" />
}

/** Classes of the cells of a column that narrower tables have no space for. */
export const WIDE_ONLY = '@max-wide:hidden'

const SIDES = { left: 'text-left', right: 'text-right' }

interface HeaderCellProps {
  /** A column without a width takes the space that the others leave. */
  width?: string
  side?: keyof typeof SIDES
  /** Shows the column in wide tables only, with `WIDE_ONLY` on its cells. */
  isWideOnly?: boolean
  children: string
}

export function HeaderCell({ width, side = 'left', isWideOnly, children }: HeaderCellProps) {
  return (
    <th
      scope="col"
      style={{ width }}
      className={`px-3.5 py-3 font-medium @wide:px-[18px] text-[12.5px] text-muted ${SIDES[side]} ${isWideOnly ? WIDE_ONLY : ''}`}
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

interface CodeCellProps {
  code: string | null
  className?: string
}

/** Shows a code, or a dash. */
export function CodeCell({ code, className = '' }: CodeCellProps) {
  return <Cell className={`text-muted ${className}`}>{code ? <CodeText code={code} /> : '—'}</Cell>
}

/** Classes of a link that covers its whole row or card, which must have `relative`. */
export const ROW_LINK = 'after:absolute after:inset-0 hover:underline'
