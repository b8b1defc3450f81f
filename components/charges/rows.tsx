'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChargeState } from '#components/charge-status.tsx'
import { Money, When } from '#components/format.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, Head, ROW_LINK, Row, Table } from '#components/ui/table.tsx'
import { useApi } from '#components/world.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'

interface ChargeRowsProps {
  charges: ListedCharge[]
}

/** Charges: a table where there is room, else a card each; the whole of it leads to the charge. */
export function ChargeRows({ charges }: ChargeRowsProps) {
  return (
    <Sheet>
      <ChargeTable charges={charges} />
      <ul className="md:hidden">
        {charges.map(charge => (
          <ChargeCard key={charge.id} charge={charge} />
        ))}
      </ul>
    </Sheet>
  )
}

function ChargeTable({ charges }: ChargeRowsProps) {
  const t = useTranslations('charges')
  return (
    <Table aria-label={t('title')}>
      <thead>
        <tr>
          <Head width="31%">{t('payer')}</Head>
          <Head width="20%">{t('reference')}</Head>
          <Head width="15%">{t('status')}</Head>
          <Head width="16%">{t('created')}</Head>
          <Head width="18%" side="right">
            {t('amount')}
          </Head>
        </tr>
      </thead>
      <tbody>
        {charges.map(charge => (
          <Row key={charge.id}>
            <Cell className="truncate font-medium" title={charge.client_name}>
              <Payer charge={charge} />
            </Cell>
            <Cell className="truncate font-mono text-[13px] text-muted" title={charge.external_id}>
              {charge.external_id}
            </Cell>
            <Cell>
              <ChargeState status={charge.status} />
            </Cell>
            <Cell className="text-muted text-small">
              <span className="relative z-10">
                <When at={charge.created_at} />
              </span>
            </Cell>
            <Cell className="text-right font-semibold">
              <Money cents={charge.amount} />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
}

function ChargeCard({ charge }: { charge: ListedCharge }) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t">
      <span className="truncate font-medium">
        <Payer charge={charge} />
      </span>
      <span className="text-right font-semibold">
        <Money cents={charge.amount} />
      </span>
      <span className="flex min-w-0 gap-2 text-muted text-small">
        <span className="relative z-10">
          <When at={charge.created_at} />
        </span>
        <span className="truncate font-mono text-[12.5px] leading-[21px]">
          {charge.external_id}
        </span>
      </span>
      <span className="justify-self-end">
        <ChargeState status={charge.status} />
      </span>
    </li>
  )
}

function Payer({ charge }: { charge: ListedCharge }) {
  const { world } = useApi()
  return (
    <Link href={`/${world.mode}/charges/${charge.id}`} prefetch={false} className={ROW_LINK}>
      {charge.client_name}
    </Link>
  )
}
