import {
  ArrowDownLeft,
  ArrowUpRight,
  CornerUpLeft,
  type LucideIcon,
  Scale,
  ShieldAlert,
  Undo2,
} from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { Day, ExactTime, Money, moneyText } from '#components/format/format.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import {
  Cell,
  CodeCell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
  WIDE_ONLY,
} from '#components/ui/table.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'

interface StatementRowsProps {
  rows: StatementRow[]
  /** Day of each row in the merchant's time zone. */
  days: string[]
  mode: Mode
}

export function StatementRows({ rows, days, mode }: StatementRowsProps) {
  const t = useTranslations('statement')
  const groups = groupByDay(rows, days)
  return (
    <ListSheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            {COLUMNS.map(([name, width, side]) => (
              <HeaderCell key={name} width={width} side={side} isWideOnly={name === 'reference'}>
                {t(`column.${name}`)}
              </HeaderCell>
            ))}
          </tr>
        </thead>
        {groups.map(group => (
          <tbody key={group[0].version}>
            <tr className="border-line border-t bg-sunk">
              <th scope="rowgroup" colSpan={4} className={`${DAY_CLASS} px-[18px] text-left`}>
                <Day at={group[0].created_at} />
              </th>
              <td className={WIDE_ONLY} />
            </tr>
            {group.map(row => (
              <TableRow key={row.version} row={row} mode={mode} />
            ))}
          </tbody>
        ))}
      </Table>
      <div className="overflow-hidden rounded-sheet @table:hidden">
        {groups.map(group => (
          <section key={group[0].version} className="border-line not-first:border-t">
            <h2 className={`${DAY_CLASS} bg-sunk px-4 font-sans! tracking-normal!`}>
              <Day at={group[0].created_at} />
            </h2>
            <ul>
              {group.map(row => (
                <EntryCard key={row.version} row={row} mode={mode} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </ListSheet>
  )
}

const COLUMNS = [
  ['when', '124px', 'left'],
  ['what', undefined, 'left'],
  ['reference', '20%', 'left'],
  ['amount', '190px', 'right'],
  ['balance', '182px', 'right'],
] as const

const DAY_CLASS = 'py-2 font-semibold text-small text-ink'

function groupByDay(rows: StatementRow[], days: string[]): [StatementRow, ...StatementRow[]][] {
  const groups: [StatementRow, ...StatementRow[]][] = []
  rows.forEach((row, index) => {
    if (index > 0 && days[index] === days[index - 1]) groups.at(-1)?.push(row)
    else groups.push([row])
  })
  return groups
}

interface EntryProps {
  row: StatementRow
  mode: Mode
}

function TableRow({ row, mode }: EntryProps) {
  return (
    <Row>
      <Cell className="text-muted text-small">
        <ExactTime at={row.created_at} format="minute" />
      </Cell>
      <Cell>
        <MovementLink row={row} mode={mode} />
      </Cell>
      <CodeCell code={row.external_id} className={WIDE_ONLY} />
      <Cell className="text-right font-semibold">
        <SignedMoney cents={row.amount} />
      </Cell>
      <Cell className="text-right text-muted">
        <Money cents={row.balance_after} />
      </Cell>
    </Row>
  )
}

function EntryCard({ row, mode }: EntryProps) {
  const t = useTranslations('statement')
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 border-line border-t px-4 py-3">
      <MovementLink row={row} mode={mode} />
      <span className="text-right">
        <span className="block font-semibold">
          <SignedMoney cents={row.amount} />
        </span>
        <span className="block text-muted text-small">
          <span className="sr-only">{t('column.balance')} </span>
          <Money cents={row.balance_after} />
        </span>
      </span>
      <span className="col-span-2 flex min-w-0 flex-wrap gap-x-2 pl-[35px] text-muted text-small">
        <ExactTime at={row.created_at} format="minute" />
        <span className={`font-mono text-[12.5px] leading-[21px] ${TWO_LINES}`}>
          {row.external_id}
        </span>
      </span>
    </li>
  )
}

const ICONS: Record<StatementRow['kind'], LucideIcon> = {
  charge_paid: ArrowDownLeft,
  withdrawal_held: ArrowUpRight,
  withdrawal_returned: Undo2,
  payout_returned: Undo2,
  unmatched_credited: ArrowDownLeft,
  refund_held: CornerUpLeft,
  dispute_held: ShieldAlert,
  dispute_won: Undo2,
  owed_repaid: ShieldAlert,
  corrected: Scale,
  payment_returned: CornerUpLeft,
  refund_returned: Undo2,
}

interface MovementLinkProps {
  row: StatementRow
  mode: Mode
}

function MovementLink({ row, mode }: MovementLinkProps) {
  const t = useTranslations('statement')
  const { kind, charge_id, withdrawal_id, client_name, pix_key_type, dict_key } = row
  const Icon = ICONS[kind]
  const path = charge_id ? `charges/${charge_id}` : withdrawal_id && `withdrawals/${withdrawal_id}`
  const key = pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : null
  const tone = row.amount > 0 ? 'bg-ok-soft text-ok' : 'bg-off-soft text-off'
  return (
    <span className="flex min-w-0 items-center gap-3">
      <span
        aria-hidden
        className={`grid size-[23px] shrink-0 place-items-center rounded-chip ${tone}`}
      >
        <Icon size={13} strokeWidth={2.2} />
      </span>
      <span className="min-w-0">
        {path ? (
          <Link
            href={`/${mode}/${path}`}
            prefetch={false}
            className={`block font-medium ${ROW_LINK}`}
          >
            {t(`kind.${kind}`)}
          </Link>
        ) : (
          <span className="block font-medium">{t(`kind.${kind}`)}</span>
        )}
        <span className={`text-muted text-small ${TWO_LINES}`}>{client_name ?? key}</span>
      </span>
    </span>
  )
}

export function SignedMoney({ cents }: { cents: number }) {
  const sign = cents > 0 ? '+' : cents < 0 ? '\u2212' : ''
  return (
    <span className={`whitespace-nowrap ${cents > 0 ? 'text-ok' : ''}`}>
      {sign} {moneyText(Math.abs(cents), useLocale())}
    </span>
  )
}
