import type { Key, ReactNode } from 'react'
import { ListSheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, Row, Table, TWO_LINES, WIDE_ONLY } from '#components/ui/table.tsx'

const LOOKS = {
  muted: 'text-muted text-small',
  amount: 'text-right font-semibold',
  figure: 'whitespace-nowrap text-right text-muted text-small',
}

export interface Column<Item> {
  head: string
  /** A column without a width takes the space that the others leave. */
  width?: string
  /** Null is shown as a dash in the table, and not on the card. */
  cell: (item: Item) => ReactNode
  look?: keyof typeof LOOKS
  /** Text of a tooltip, for a cell that may be cut off. */
  title?: (item: Item) => string | undefined
  /** A line below the cell, and at the end of the card. */
  note?: (item: Item) => string | null
  isWideOnly?: boolean
  /**
   * Its place on the card, which has one column in each: `title` and `aside` in the first line, below
   * them `left`, with `detail` beside it, and `right`. Absent: the card omits it.
   */
  card?: 'title' | 'aside' | 'left' | 'detail' | 'right'
  /** Whether the card names it by the head of the column. */
  isNamedOnCard?: boolean
}

interface DataListProps<Item> {
  label: string
  columns: Column<Item>[]
  items: Item[]
  keyOf: (item: Item) => Key
}

/** A list of rows with a link of the class ROW_LINK: a table and, where there is no room for it, cards. */
export function DataList<Item>({ label, columns, items, keyOf }: DataListProps<Item>) {
  return (
    <ListSheet>
      <Table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, width, look, isWideOnly }) => (
              <HeaderCell
                key={head}
                width={width}
                side={look === 'amount' || look === 'figure' ? 'right' : 'left'}
                isWideOnly={isWideOnly}
              >
                {head}
              </HeaderCell>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map(item => (
            <Row key={keyOf(item)}>
              {columns.map(column => (
                <DataCell key={column.head} column={column} item={item} />
              ))}
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="@table:hidden">
        {items.map(item => (
          <Card key={keyOf(item)} columns={columns} item={item} />
        ))}
      </ul>
    </ListSheet>
  )
}

function DataCell<Item>({ column, item }: { column: Column<Item>; item: Item }) {
  const { cell, look, title, note, isWideOnly } = column
  const noteText = note?.(item)
  return (
    <Cell
      title={title?.(item)}
      className={`${look ? LOOKS[look] : ''} ${isWideOnly ? WIDE_ONLY : ''}`}
    >
      {cell(item) ?? <span className="text-muted">—</span>}
      {noteText ? (
        <span title={noteText} className={`relative z-10 mt-1 text-muted text-small ${TWO_LINES}`}>
          {noteText}
        </span>
      ) : null}
    </Cell>
  )
}

function Card<Item>({ columns, item }: { columns: Column<Item>[]; item: Item }) {
  const shownAt = (place: Column<Item>['card'], className: string) => {
    const column = columns.find(({ card }) => card === place)
    const shown = column?.cell(item) ?? null
    if (!column || shown === null) return null
    return (
      <div className={`${className} ${column.look ? LOOKS[column.look] : ''}`}>
        {column.isNamedOnCard ? (
          <span className="text-muted text-small">{column.head} </span>
        ) : null}
        {shown}
      </div>
    )
  }
  const notes = columns.flatMap(({ note }) => note?.(item) || [])
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)] gap-1.5 border-line px-4 py-3 not-first:border-t">
      <div className="flex items-start justify-between gap-3">
        {shownAt('title', 'min-w-0')}
        {shownAt('aside', 'shrink-0')}
      </div>
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        {/* Narrower than its content, so that a long detail is cut off before the line breaks. */}
        <div className="flex min-w-0 grow basis-32 flex-wrap items-center gap-x-2">
          {shownAt('left', 'min-w-0 max-w-full')}
          {shownAt('detail', 'min-w-0 max-w-full')}
        </div>
        {shownAt('right', 'shrink-0')}
      </div>
      {notes.map(note => (
        <p key={note} className="wrap-anywhere text-muted text-small">
          {note}
        </p>
      ))}
    </li>
  )
}
