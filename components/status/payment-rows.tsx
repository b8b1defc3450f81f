'use client'

import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { ChargeStateChip } from '#components/status/state-chips.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { CodeText, ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { ownReference, shownStatusOf } from '#lib/charges/states.ts'

/** The columns that lists of payments share. */
export function referenceColumn<Item extends { external_id: string | null }>(
  head: string,
  referenceOf = (item: Item) => item.external_id,
): Column<Item> {
  return {
    head,
    width: '18%',
    cell: item => {
      const code = referenceOf(item)
      return code ? <CodeText code={code} /> : null
    },
    card: 'detail',
  }
}

export function createdColumn(head: string): Column<{ created_at: string }> {
  return {
    head,
    width: '138px',
    cell: ({ created_at: at }) => (
      <span className="relative z-10">
        <RelativeTime isInRow at={at} />
      </span>
    ),
    look: 'muted',
    card: 'left',
  }
}

export function amountColumn(head: string): Column<{ amount: number }> {
  return {
    head,
    width: '168px',
    cell: ({ amount }) => <Money cents={amount} />,
    look: 'amount',
    card: 'aside',
  }
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
  const payerOf = ({ client_name: name }: ListedCharge) => name || t('noPayer')
  const columns: Column<ListedCharge>[] = [
    {
      head: t('payer'),
      cell: charge => (
        <Link
          href={`/${mode}/charges/${charge.id}`}
          prefetch={false}
          className={`block font-medium ${ROW_LINK}`}
        >
          <span className={TWO_LINES}>{payerOf(charge)}</span>
        </Link>
      ),
      title: payerOf,
      card: 'title',
    },
    referenceColumn(t('reference'), ({ id, external_id }) => ownReference(id, external_id)),
    {
      head: t('status'),
      width: '188px',
      cell: charge => <ChargeStateChip status={shownStatusOf(charge)} />,
      note: charge =>
        shownStatusOf(charge) === 'partly_refunded'
          ? t('net', { amount: moneyText(charge.amount - charge.refunded_amount, locale) })
          : null,
      card: 'right',
    },
    createdColumn(createdLabel),
    amountColumn(t('amount')),
  ]
  return <DataList label={label} columns={columns} items={charges} keyOf={({ id }) => id} />
}
