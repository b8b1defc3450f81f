'use client'

import { useQuery } from '@tanstack/react-query'
import { Plus, QrCode, Webhook } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Balance, Hint, LedgerWarning } from '#app/[mode]/home/balance.tsx'
import { ChartCard } from '#app/[mode]/home/chart-card.tsx'
import { useApi } from '#components/form/api.ts'
import { useDurations } from '#components/format/duration.ts'
import { HeroMoney, Money } from '#components/format/format.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { ChargeRows } from '#components/status/amount-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { numberFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Home } from '#lib/dashboard/schema.ts'

const REFRESH_MS = 10_000

interface LiveHomeProps {
  initialData: Home
  /** API query parameters that select the days of the chart. */
  query: string
  children: ReactNode
}

export function LiveHome({ initialData, query, children }: LiveHomeProps) {
  const api = useApi()
  const { mode, accountId } = api.scope
  const { data: home } = useQuery({
    queryKey: ['home', mode, accountId, query],
    queryFn: async ({ signal }) => {
      const { data } = await api.get<{ data: Home }>(`/dashboard/home?${query}`, signal)
      return data
    },
    initialData,
    refetchInterval: REFRESH_MS,
    // 0, so that a later visit starts with the server's data instead of this cache.
    gcTime: 0,
  })
  return (
    <>
      <LedgerWarning books={home.books} />
      <div className="flex flex-col gap-6 lg:grid lg:grid-cols-[minmax(0,5fr)_minmax(0,4fr)] lg:gap-x-0 lg:gap-y-8">
        <div
          aria-hidden
          className="col-span-2 col-start-1 row-start-1 hidden rounded-sheet border border-line bg-surface shadow-sheet lg:block"
        />
        <div className="col-start-1 row-start-1">
          <Balance balance={home.balance} books={home.books} mode={mode} />
        </div>
        <div className="col-start-2 row-start-1 max-lg:order-last">
          <ReceivedPayments home={home} mode={mode} />
        </div>
        <div className="col-span-2 empty:hidden">{children}</div>
        <div className="col-span-2">
          <ChartCard days={home.days} />
        </div>
        <div className="col-span-2">
          <LatestCharges charges={home.charges} mode={mode} />
        </div>
      </div>
    </>
  )
}

interface LatestChargesProps {
  charges: ListedCharge[]
  mode: Mode
}

function LatestCharges({ charges, mode }: LatestChargesProps) {
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
      {charges.length === 0 ? (
        <Sheet>
          <NoCharges mode={mode} />
        </Sheet>
      ) : (
        <ChargeRows label={t('recent')} createdLabel={t('created')} charges={charges} />
      )}
    </section>
  )
}

function NoCharges({ mode }: { mode: Mode }) {
  const t = useTranslations('home')
  const canCreate = useHasPermission()('transactions:write')
  return (
    <EmptyState icon={QrCode} title={t('none')} text={canCreate && t('noneHow')}>
      {canCreate ? (
        <Link href={`/${mode}/charges/new`} prefetch={false} className={buttonClass('quiet')}>
          <Plus size={17} aria-hidden />
          {t('newCharge')}
        </Link>
      ) : null}
    </EmptyState>
  )
}

type ReceivedField = 'received' | 'conversion' | 'median_seconds' | 'webhooks'

function ReceivedPayments({ home, mode }: { home: Pick<Home, ReceivedField>; mode: Mode }) {
  const t = useTranslations('home')
  const { duration } = useDurations()
  const { today, week, month } = home.received
  const count = numberFormat(useLocale()).format(month.count)
  return (
    <section
      aria-label={t('numbers')}
      className="max-lg:rounded-sheet max-lg:border max-lg:border-line max-lg:bg-surface max-lg:p-4 max-lg:shadow-sheet lg:border-line lg:border-l lg:px-7 lg:py-7"
    >
      <p className="text-muted text-small">
        <Hint text={t('todayHint')}>{t('today')}</Hint>
      </p>
      <p className="mt-2 text-[28px] leading-none">
        <HeroMoney cents={today.amount} testId="received-today" />
      </p>
      <p className="mt-2.5 text-muted text-small">
        {t.rich('weekAndMonth', {
          week: () => <Money cents={week.amount} />,
          month: () => <Money cents={month.amount} />,
        })}
      </p>
      <dl className="mt-4 flex flex-wrap gap-x-6 gap-y-2">
        <Figure name={t('paid')} hint={t('paidHint')}>
          {count}
        </Figure>
        <Figure name={t('conversion')} hint={t('conversionHint')}>
          <Percentage ratio={home.conversion} digits={0} />
        </Figure>
        <Figure name={t('time')} hint={t('timeHint')} side="end">
          {home.median_seconds === null ? '—' : duration(home.median_seconds)}
        </Figure>
      </dl>
      <p className="mt-3.5">
        <Link
          href={`/${mode}/webhooks`}
          prefetch={false}
          className="inline-flex min-h-6 items-center gap-2 text-muted text-small hover:text-ink hover:underline"
        >
          <Webhook size={17} strokeWidth={1.8} aria-hidden className="shrink-0" />
          <DeliveryRate webhooks={home.webhooks} />
        </Link>
      </p>
    </section>
  )
}

interface FigureProps {
  name: string
  hint: string
  side?: 'start' | 'end'
  children: ReactNode
}

function Figure({ name, hint, side, children }: FigureProps) {
  return (
    <div>
      <dt className="text-muted text-small">
        <Hint text={hint} side={side}>
          {name}
        </Hint>
      </dt>
      <dd className="font-semibold text-[17px] leading-tight">{children}</dd>
    </div>
  )
}

function DeliveryRate({ webhooks }: Pick<Home, 'webhooks'>) {
  const t = useTranslations('home')
  const locale = useLocale()
  if (!webhooks) return t('webhooksNone')
  const share = percentText(webhooks.delivered, locale, 1)
  if (webhooks.mean_ms === null) return t('webhooksNoMean', { share })
  const mean = numberFormat(locale).format(webhooks.mean_ms)
  return t('webhooks', { share, mean })
}

function Percentage({ ratio, digits }: { ratio: number | null; digits: number }) {
  const locale = useLocale()
  return ratio === null ? '—' : percentText(ratio, locale, digits)
}

/** Truncates instead of rounding: 100 % must mean no exception. */
function percentText(ratio: number, locale: string, digits: number): string {
  const truncated = Math.floor(ratio * 100 * 10 ** digits + 1e-9) / 10 ** digits / 100
  const options = { style: 'percent', maximumFractionDigits: digits } as const
  return numberFormat(locale, options).format(truncated)
}
