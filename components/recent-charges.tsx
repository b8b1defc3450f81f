import { useTranslations } from 'next-intl'
import { ChargeState } from '#components/charge-status.tsx'
import { Money, When } from '#components/format.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, Head, Row, Table } from '#components/ui/table.tsx'
import type { ChargeRow } from '#lib/charges/schema.ts'

interface RecentChargesProps {
  charges: ChargeRow[]
}

/** The latest charges: a table where there is room, else a card each. */
export function RecentCharges({ charges }: RecentChargesProps) {
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

function ChargeTable({ charges }: RecentChargesProps) {
  const t = useTranslations('charges')
  return (
    <Table aria-label={t('recent')}>
      <thead>
        <tr>
          <Head width="30%">{t('payer')}</Head>
          <Head width="19%">{t('reference')}</Head>
          <Head width="17%">{t('status')}</Head>
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
              {charge.client_name}
            </Cell>
            <Cell className="truncate font-mono text-[13px] text-muted" title={charge.external_id}>
              {charge.external_id}
            </Cell>
            <Cell>
              <ChargeState status={charge.status} />
            </Cell>
            <Cell className="text-muted text-small">
              <When at={charge.created_at} />
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

function ChargeCard({ charge }: { charge: ChargeRow }) {
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t">
      <span className="truncate font-medium">{charge.client_name}</span>
      <span className="text-right font-semibold">
        <Money cents={charge.amount} />
      </span>
      <span className="flex min-w-0 gap-2 text-muted text-small">
        <When at={charge.created_at} />
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
