'use client'

import { useQuery } from '@tanstack/react-query'
import { Plus, QrCode } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Balance } from '#app/[mode]/home/balance.tsx'
import { ChartCard } from '#app/[mode]/home/chart-card.tsx'
import { LedgerWarning } from '#app/[mode]/home/ledger-check.tsx'
import { ReceivedPayments } from '#app/[mode]/home/received.tsx'
import { useApi } from '#components/form/api.ts'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { ChargeRows } from '#components/status/charge-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
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
