'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import {
  Cell,
  CodeCell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
} from '#components/ui/table.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { ownReference, shownStatusOf } from '#lib/charges/states.ts'

interface AmountRow {
  id: string
  /** Payer or destination. A link with the class ROW_LINK makes the whole row clickable. */
  subject: ReactNode
  /** The subject as text, for the tooltip of a truncated cell. */
  title?: string
  external_id: string | null
  state: ReactNode
  /** Why it is in this state. */
  note?: string | null
  created_at: string
  amount: number
}

interface AmountRowsProps {
  label: string
  heads: Record<'subject' | 'reference' | 'status' | 'created' | 'amount', string>
  /** Width of the longest state. */
  statusWidth: string
  rows: AmountRow[]
}

export function AmountRows(props: AmountRowsProps) {
  return (
    <ListSheet>
      <AmountTable {...props} />
      <ul className="@table:hidden">
        {props.rows.map(row => (
          <AmountCard key={row.id} {...row} />
        ))}
      </ul>
    </ListSheet>
  )
}

function AmountTable({ label, heads, statusWidth, rows }: AmountRowsProps) {
  return (
    <Table aria-label={label}>
      <thead>
        <tr>
          <HeaderCell>{heads.subject}</HeaderCell>
          <HeaderCell width="18%">{heads.reference}</HeaderCell>
          <HeaderCell width={statusWidth}>{heads.status}</HeaderCell>
          <HeaderCell width="138px">{heads.created}</HeaderCell>
          <HeaderCell width="168px" side="right">
            {heads.amount}
          </HeaderCell>
        </tr>
      </thead>
      <tbody>
        {rows.map(row => (
          <Row key={row.id}>
            <Cell className="font-medium" title={row.title}>
              {row.subject}
            </Cell>
            <CodeCell code={row.external_id} />
            <Cell>
              {row.state}
              {row.note ? (
                <span
                  title={row.note}
                  className={`relative z-10 mt-1 text-muted text-small ${TWO_LINES}`}
                >
                  {row.note}
                </span>
              ) : null}
            </Cell>
            <Cell className="text-muted text-small">
              <span className="relative z-10">
                <RelativeTime isInRow at={row.created_at} />
              </span>
            </Cell>
            <Cell className="text-right font-semibold">
              <Money cents={row.amount} />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
}

function AmountCard({ subject, external_id, state, note, created_at, amount }: AmountRow) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)] gap-1 border-line px-4 py-3 not-first:border-t">
      <div className="flex items-start justify-between gap-3">
        <div className="min-w-0 font-medium">{subject}</div>
        <span className="shrink-0 font-semibold">
          <Money cents={amount} />
        </span>
      </div>
      <div className="flex items-center justify-between gap-3">
        <span className="flex min-w-0 flex-wrap gap-x-2 text-muted text-small">
          <span className="relative z-10">
            <RelativeTime isInRow at={created_at} />
          </span>
          <span className="max-w-full truncate font-mono text-[12.5px] leading-[21px]">
            {external_id}
          </span>
        </span>
        <span className="shrink-0">{state}</span>
      </div>
      {note ? <p className="wrap-anywhere text-muted text-small">{note}</p> : null}
    </li>
  )
}

/** Describes the amount that remains after a partial refund; null for other charges. */
function netNote(charge: ListedCharge, describe: (left: number) => string): string | null {
  const isPart = shownStatusOf(charge) === 'partly_refunded'
  return isPart ? describe(charge.amount - charge.refunded_amount) : null
}

interface ChargeRowsProps {
  label: string
  createdLabel: string
  charges: ListedCharge[]
}

export function ChargeRows({ label, createdLabel, charges }: ChargeRowsProps) {
  const t = useTranslations('charges')
  const { mode } = useApi().scope
  const locale = useLocale()
  const rows = charges.map(charge => ({
    ...charge,
    note: netNote(charge, left => t('net', { amount: moneyText(left, locale) })),
    external_id: ownReference(charge.id, charge.external_id),
    title: charge.client_name || t('noPayer'),
    state: <ChargeStateChip status={shownStatusOf(charge)} />,
    subject: (
      <Link href={`/${mode}/charges/${charge.id}`} prefetch={false} className={`block ${ROW_LINK}`}>
        <span className={TWO_LINES}>{charge.client_name || t('noPayer')}</span>
      </Link>
    ),
  }))
  const heads = {
    subject: t('payer'),
    reference: t('reference'),
    status: t('status'),
    created: createdLabel,
    amount: t('amount'),
  }
  return <AmountRows label={label} heads={heads} statusWidth="188px" rows={rows} />
}
