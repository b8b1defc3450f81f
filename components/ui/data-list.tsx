import { Fragment, type ReactNode } from 'react'
import { ListSheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, Row, Table, TWO_LINES, WIDE_ONLY } from '#components/ui/table.tsx'

const LOOKS = {
  control: 'py-0! pr-0! pl-2!',
  muted: 'text-muted text-small',
  right: 'text-right',
  amount: 'text-right font-semibold',
  figure: 'whitespace-nowrap text-right text-muted text-small',
}
const HEAD_LOOKS = {
  control: LOOKS.control,
  muted: '',
  right: 'text-right',
  amount: 'text-right',
  figure: 'text-right',
}

export interface Column<Item> {
  head: string
  /** Stands in the head of the table instead of its text, and above the cards. */
  control?: ReactNode
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
   * Its place on the card, which has one column in each: `control`, `title` and `aside` in the first line,
   * below them `left`, with `detail` beside it, and `right`. Any number are `fact`, with their heads. Absent:
   * the card omits it.
   */
  card?: CardPlace | 'fact'
  /** Whether the card names it by the head of the column. */
  isNamedOnCard?: boolean
}

type CardPlace = 'control' | 'title' | 'aside' | 'left' | 'detail' | 'right'

interface DataListProps<Item> {
  label: string
  columns: Column<Item>[]
  items: Item[]
  keyOf: (item: Item) => string | number
  /** Items with the same key that follow each other stand below one heading. */
  group?: { keyOf: (item: Item) => string | number; head: (first: Item) => ReactNode }
}

/** A list of rows with a link of the class ROW_LINK: a table and, where there is no room for it, cards. */
export function DataList<Item>({ label, columns, items, keyOf, group }: DataListProps<Item>) {
  const groups = groupItems(items, group?.keyOf).map(members => ({
    key: keyOf(members[0]),
    head: group?.head(members[0]),
    members,
  }))
  return (
    <ListSheet>
      <Table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, control, width, look, isWideOnly }) => (
              <HeaderCell
                key={head}
                width={width}
                className={`${look ? HEAD_LOOKS[look] : ''} ${isWideOnly ? WIDE_ONLY : ''}`}
              >
                {control ?? head}
              </HeaderCell>
            ))}
          </tr>
        </thead>
        {groups.map(({ key, head, members }) => (
          <tbody key={key}>
            {head ? <GroupRow columns={columns}>{head}</GroupRow> : null}
            {members.map(item => (
              <Row key={keyOf(item)}>
                {columns.map(column => (
                  <DataCell key={column.head} column={column} item={item} />
                ))}
              </Row>
            ))}
          </tbody>
        ))}
      </Table>
      <div className="@table:hidden">
        {columns.map(({ control, head }) =>
          control ? (
            <div key={head} className="flex items-center gap-x-3 border-line border-b px-4 py-1">
              <div className="-mr-2 -ml-2.5">{control}</div>
              <span aria-hidden className="text-muted text-small">
                {head}
              </span>
            </div>
          ) : null,
        )}
        {groups.map(({ key, head, members }) => (
          <Fragment key={key}>
            {head ? (
              <h2
                className={`${GROUP_CLASS} border-line border-b px-4 font-sans! tracking-normal! first:rounded-t-sheet not-first:border-t`}
              >
                {head}
              </h2>
            ) : null}
            <ul>
              {members.map(item => (
                <Card key={keyOf(item)} columns={columns} item={item} />
              ))}
            </ul>
          </Fragment>
        ))}
      </div>
    </ListSheet>
  )
}

function groupItems<Item>(
  items: Item[],
  keyOf?: (item: Item) => string | number,
): [Item, ...Item[]][] {
  const groups: [Item, ...Item[]][] = []
  for (const item of items) {
    const last = groups.at(-1)
    if (last && keyOf?.(last[0]) === keyOf?.(item)) last.push(item)
    else groups.push([item])
  }
  return groups
}

const GROUP_CLASS = 'bg-sunk py-2 font-semibold text-ink text-small'

interface GroupRowProps<Item> {
  columns: Column<Item>[]
  children: ReactNode
}

/** The heading must not span columns that are hidden: the table would get more of them. */
function GroupRow<Item>({ columns, children }: GroupRowProps<Item>) {
  const wideCount = columns.filter(({ isWideOnly }) => isWideOnly).length
  return (
    <tr className="border-line border-t">
      <th
        scope="rowgroup"
        colSpan={columns.length - wideCount}
        className={`${GROUP_CLASS} px-[18px] text-left`}
      >
        {children}
      </th>
      {wideCount > 0 ? <td colSpan={wideCount} className={`bg-sunk ${WIDE_ONLY}`} /> : null}
    </tr>
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
  const show = (place: CardPlace, className: string) => {
    const column = columns.find(({ card }) => card === place)
    const shown = column?.cell(item) ?? null
    if (!column || shown === null) return null
    return (
      <div
        className={`${className} ${column.look && place !== 'control' ? LOOKS[column.look] : ''}`}
      >
        {column.isNamedOnCard ? (
          <span className="text-muted text-small">{column.head} </span>
        ) : null}
        {shown}
      </div>
    )
  }
  const [left, detail] = [show('left', 'min-w-0 max-w-full'), show('detail', 'min-w-0 max-w-full')]
  const right = show('right', 'shrink-0')
  const facts = columns.filter(({ card }) => card === 'fact')
  const notes = columns.flatMap(({ note }) => note?.(item) || [])
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)] gap-1.5 border-line px-4 py-3 not-first:border-t">
      <div className="flex items-start justify-between gap-3">
        {show('control', '-mt-2 -mr-2 -ml-2.5 shrink-0')}
        {show('title', 'min-w-0 grow')}
        {show('aside', 'shrink-0 text-right')}
      </div>
      {left || detail || right ? (
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
          {/* Narrower than its content, so that a long detail is cut off before the line breaks. */}
          <div className="flex min-w-0 grow basis-32 flex-wrap items-center gap-x-2">
            {left}
            {detail}
          </div>
          {right}
        </div>
      ) : null}
      {facts.length > 0 ? (
        <dl className="mt-1 grid grid-cols-2 gap-x-4 gap-y-1.5 text-small">
          {facts.map(({ head, cell }) => (
            <div key={head} className="min-w-0">
              <dt className="text-muted">{head}</dt>
              <dd>{cell(item) ?? '—'}</dd>
            </div>
          ))}
        </dl>
      ) : null}
      {notes.map(note => (
        <p key={note} className="wrap-anywhere text-muted text-small">
          {note}
        </p>
      ))}
    </li>
  )
}
