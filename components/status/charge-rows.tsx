'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { ChargeState } from '#components/status/state-chips.tsx'
import { AmountRows } from '#components/ui/amount-rows.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { shownStatusOf } from '#lib/charges/states.ts'

interface ChargeRowsProps {
  label: string
  createdLabel: string
  charges: ListedCharge[]
}

export function ChargeRows({ label, createdLabel, charges }: ChargeRowsProps) {
  const t = useTranslations('charges')
  const { mode } = useApi().scope
  const rows = charges.map(charge => ({
    ...charge,
    title: charge.client_name,
    state: <ChargeState status={shownStatusOf(charge)} />,
    subject: (
      <Link href={`/${mode}/charges/${charge.id}`} prefetch={false} className={`block ${ROW_LINK}`}>
        <span className={TWO_LINES}>{charge.client_name}</span>
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
  return <AmountRows label={label} heads={heads} statusWidth="196px" rows={rows} />
}
