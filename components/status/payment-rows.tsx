'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { CodeText, ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
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

export function AmountRows({ label, heads, statusWidth, rows }: AmountRowsProps) {
  const columns: Column<AmountRow>[] = [
    {
      head: heads.subject,
      cell: ({ subject }) => <div className="font-medium">{subject}</div>,
      title: ({ title }) => title,
      card: 'title',
    },
    {
      head: heads.reference,
      width: '18%',
      cell: ({ external_id: code }) => (code ? <CodeText code={code} /> : null),
      card: 'detail',
    },
    {
      head: heads.status,
      width: statusWidth,
      cell: ({ state }) => state,
      note: ({ note }) => note ?? null,
      card: 'right',
    },
    {
      head: heads.created,
      width: '138px',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime isInRow at={at} />
        </span>
      ),
      look: 'muted',
      card: 'left',
    },
    {
      head: heads.amount,
      width: '168px',
      cell: ({ amount }) => <Money cents={amount} />,
      look: 'amount',
      card: 'aside',
    },
  ]
  return <DataList label={label} columns={columns} items={rows} keyOf={({ id }) => id} />
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
