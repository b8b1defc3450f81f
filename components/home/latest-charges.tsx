import { Plus, QrCode } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChargeState } from '#components/charge-status.tsx'
import { Money, When } from '#components/format.tsx'
import { IfMay } from '#components/may.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { Cell, Head, ROW_LINK, Row, Table } from '#components/ui/table.tsx'
import type { LatestCharge } from '#lib/dashboard/schema.ts'
import type { Mode } from '#lib/mode.ts'

interface LatestChargesProps {
  charges: LatestCharge[]
  mode: Mode
}

/** The latest charges: a table where there is room, else a card each. */
export function LatestCharges({ charges, mode }: LatestChargesProps) {
  const t = useTranslations('home')
  return (
    <section>
      <div className="mb-2.5 flex items-center justify-between gap-4">
        <h2 className="text-title">{t('recent')}</h2>
        <Link
          href={`/${mode}/charges`}
          prefetch={false}
          className="inline-flex min-h-6 items-center font-semibold text-accent text-small hover:underline"
        >
          {t('all')}
        </Link>
      </div>
      <Sheet>
        {charges.length === 0 ? (
          <None mode={mode} />
        ) : (
          <>
            <ChargeTable charges={charges} mode={mode} />
            <ul className="md:hidden">
              {charges.map(charge => (
                <ChargeCard key={charge.id} charge={charge} mode={mode} />
              ))}
            </ul>
          </>
        )}
      </Sheet>
    </section>
  )
}

function None({ mode }: { mode: Mode }) {
  const t = useTranslations('home')
  return (
    <Empty icon={QrCode} title={t('none')} text={t('noneHow')}>
      <IfMay do="transactions:write">
        <Link href={`/${mode}/charges/new`} prefetch={false} className={buttonClass('quiet')}>
          <Plus size={17} aria-hidden />
          {t('newCharge')}
        </Link>
      </IfMay>
    </Empty>
  )
}

function ChargeTable({ charges, mode }: LatestChargesProps) {
  const t = useTranslations('home')
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
              <Link href={`/${mode}/charges/${charge.id}`} prefetch={false} className={ROW_LINK}>
                {charge.client_name}
              </Link>
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

function ChargeCard({ charge, mode }: { charge: LatestCharge; mode: Mode }) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-line px-4 py-3 not-first:border-t">
      <Link
        href={`/${mode}/charges/${charge.id}`}
        prefetch={false}
        className={`${ROW_LINK} truncate font-medium`}
      >
        {charge.client_name}
      </Link>
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
