'use client'

import { Webhook } from 'lucide-react'
import Link from 'next/link'
import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { useDeliveries } from '#app/[mode]/webhooks/delivery-data.ts'
import { DeliveryFilters } from '#app/[mode]/webhooks/delivery-filters.tsx'
import { COLUMNS_CLASS, DeliveryRow } from '#app/[mode]/webhooks/delivery-row.tsx'
import { ResendFailed } from '#app/[mode]/webhooks/resend-failed.tsx'
import type { ResendFilter } from '#app/[mode]/webhooks/resend-filter.ts'
import { WebhookTabs } from '#app/[mode]/webhooks/webhook-tabs.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { SearchFilter } from '#components/filters/search-filter.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/form/api.ts'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import type { DeliveriesQuery, DeliveryPage, Endpoint } from '#lib/webhooks/schema.ts'

interface DeliveriesProps {
  query: DeliveriesQuery
  page: DeliveryPage
  resendable: { filter: ResendFilter; count: number } | null
  endpoints: Pick<Endpoint, 'id' | 'url'>[]
  selectedId?: string
  children?: ReactNode
}

const FILTER_NAMES = [
  ...['status', 'type', 'endpoint_id', 'reference', 'period', 'from', 'to', 'cursor'],
]

export function Deliveries({
  query,
  page,
  resendable,
  endpoints,
  selectedId,
  children,
}: DeliveriesProps) {
  const t = useTranslations('deliveries')
  const { get, set, isPending } = useFilters()
  const { data, error } = useDeliveries(query, page)
  const listClass = selectedId ? 'max-xl:hidden' : ''
  const isFiltered = FILTER_NAMES.some(get)
  const clear = () => set(Object.fromEntries(FILTER_NAMES.map(name => [name, null])))
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries" className="sr-only">
        {t('title')}
      </h2>
      <div className={`mb-4 flex flex-wrap items-center gap-2 ${listClass}`}>
        <WebhookTabs current="deliveries" />
        <span aria-hidden className="mx-1 h-6 w-px bg-line2 max-md:hidden" />
        <DeliveryFilters get={get} set={set} endpoints={endpoints} />
        <div className="flex min-w-0 flex-1 basis-40">
          <SearchFilter
            label={t('filter.reference')}
            name="reference"
            value={get('reference')}
            onSearch={reference => set({ reference })}
          />
        </div>
        {resendable ? (
          <IfAllowed permission="webhooks:write">
            <ResendFailed filter={resendable.filter} initialCount={resendable.count} />
          </IfAllowed>
        ) : null}
      </div>
      <div
        className={
          selectedId
            ? 'grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,0.72fr)]'
            : undefined
        }
      >
        <div className={`min-w-0 ${listClass}`}>
          <ListBody
            error={selectedId ? null : error}
            isPending={isPending}
            nextCursor={data.next_cursor}
          >
            <ListSheet className="overflow-clip">
              {data.data.length > 0 ? (
                <DeliveryList deliveries={data.data} selectedId={selectedId} />
              ) : isFiltered ? (
                <NoMatches title={t('noneFound')} text={t('noneFoundText')} clear={clear} />
              ) : (
                <NoDeliveries hasEndpoint={endpoints.length > 0} />
              )}
            </ListSheet>
          </ListBody>
        </div>
        {children}
      </div>
    </section>
  )
}

function DeliveryList({
  deliveries,
  selectedId,
}: {
  deliveries: DeliveryPage['data']
  selectedId?: string
}) {
  const t = useTranslations('deliveries')
  const { scope } = useApi()
  const searchParams = useSearchParams()
  const hrefOf = (id: string) => {
    const query = searchParams.toString()
    return `/${scope.mode}/webhooks/deliveries/${id}${query ? `?${query}` : ''}`
  }
  return (
    <>
      <div
        aria-hidden
        className={`hidden gap-x-4 px-[18px] py-2.5 font-medium text-[12.5px] text-muted @table:grid ${COLUMNS_CLASS}`}
      >
        <span>{t('event')}</span>
        <span>{t('state')}</span>
        <span className="text-right">{t('when')}</span>
      </div>
      <ul aria-labelledby="deliveries" className="@table:border-line @table:border-t">
        {deliveries.map(delivery => (
          <DeliveryRow
            key={delivery.id}
            delivery={delivery}
            href={hrefOf(delivery.id)}
            isSelected={delivery.id === selectedId}
          />
        ))}
      </ul>
    </>
  )
}

function NoDeliveries({ hasEndpoint }: { hasEndpoint: boolean }) {
  const t = useTranslations('deliveries')
  const { scope } = useApi()
  return (
    <EmptyState
      icon={Webhook}
      title={t('noneYet')}
      text={hasEndpoint ? t('noneYetWithEndpoint') : t('noneYetText')}
    >
      <IfAllowed permission={hasEndpoint ? 'transactions:write' : 'webhooks:write'}>
        <Link
          href={`/${scope.mode}/${hasEndpoint ? 'charges/new' : 'webhooks/endpoints/new'}`}
          prefetch={false}
          className={buttonClass('primary')}
        >
          {hasEndpoint ? t('newCharge') : t('newEndpoint')}
        </Link>
      </IfAllowed>
      <a href="/docs" className={buttonClass('quiet')}>
        {t('docs')}
      </a>
    </EmptyState>
  )
}
