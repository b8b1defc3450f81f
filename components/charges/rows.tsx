'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { AmountRows } from '#components/amount-rows.tsx'
import { ChargeState } from '#components/charge-status.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import { useApi } from '#components/world.tsx'
import type { ListedCharge } from '#lib/rooms/charges/schema.ts'

interface ChargeRowsProps {
  label: string
  /** What the column of their times is called. */
  created: string
  charges: ListedCharge[]
}

/** Charges by their payers; the whole of a row leads to its charge. */
export function ChargeRows({ label, created, charges }: ChargeRowsProps) {
  const t = useTranslations('charges')
  const { mode } = useApi().world
  const rows = charges.map(charge => ({
    ...charge,
    title: charge.client_name,
    state: <ChargeState status={charge.status} />,
    subject: (
      <Link href={`/${mode}/charges/${charge.id}`} prefetch={false} className={ROW_LINK}>
        {charge.client_name}
      </Link>
    ),
  }))
  const heads = {
    subject: t('payer'),
    reference: t('reference'),
    status: t('status'),
    created,
    amount: t('amount'),
  }
  return <AmountRows label={label} heads={heads} rows={rows} />
}
