'use client'

import { useMutation, useQueryClient, useSuspenseQuery } from '@tanstack/react-query'
import { Webhook } from 'lucide-react'
import Link from 'next/link'
import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { COLUMNS_CLASS, DeliveryRow, hostAndPathOf } from '#app/[mode]/webhooks/delivery-row.tsx'
import type { ResendFilter } from '#app/[mode]/webhooks/resend-filter.ts'
import { WebhookProblem } from '#app/[mode]/webhooks/webhook-problem.tsx'
import { WebhookTabs } from '#app/[mode]/webhooks/webhook-tabs.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ChoiceFilter, PeriodFilter, SearchFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, type Filters, useFilters } from '#components/filters/use-filters.ts'
import { ExactTime } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { deliveryQueries } from '#components/queries/deliveries.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { LazyDialog, LazyDialogActions } from '#components/ui/lazy-dialog.ts'
import { EmptyState, ListSheet } from '#components/ui/sheet.tsx'
import type { DeliveriesResent, DeliveryPage, Endpoint } from '#lib/webhooks/schema.ts'
import {
  DELIVERY_STATUSES,
  EVENT_GROUPS,
  EVENT_TYPES,
  NO_ENDPOINT,
  RESEND_DAYS_MAX,
} from '#lib/webhooks/states.ts'

interface DeliveriesProps {
  query: QueryOf<'/webhooks/deliveries'>
  /** Which failed deliveries can be sent again at once. */
  resendable: ResendFilter | undefined
  endpoints: Pick<Endpoint, 'id' | 'url'>[]
  selectedId?: string
  children?: ReactNode
}

export function Deliveries({
  query,
  resendable,
  endpoints,
  selectedId,
  children,
}: DeliveriesProps) {
  const t = useTranslations('deliveries')
  const { get, set, clear, isSet, isPending } = useFilters<DeliveryFilter>()
  const { data, error } = useSuspenseQuery(deliveryQueries.list(useApi(), query))
  const listClass = selectedId ? 'max-xl:hidden' : ''
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
            <ResendFailed
              filter={resendable}
              hasPeriod={query.created_from !== undefined || query.created_to !== undefined}
            />
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
              ) : isSet ? (
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

type DeliveryFilter = FilterName<'/webhooks/deliveries'>

interface DeliveryFiltersProps extends Pick<Filters<DeliveryFilter>, 'get' | 'set'> {
  endpoints: Pick<Endpoint, 'id' | 'url'>[]
}

function DeliveryFilters({ get, set, endpoints }: DeliveryFiltersProps) {
  const t = useTranslations('deliveries')
  const statuses = DELIVERY_STATUSES.map(value => ({ value, label: t(`status.${value}`) }))
  const types = [...EVENT_GROUPS, ...EVENT_TYPES].map(value => ({ value, label: value }))
  const receivers = [
    ...endpoints.map(({ id, url }) => ({ value: id, label: hostAndPathOf(url) })),
    { value: NO_ENDPOINT, label: t('ofResources') },
  ]
  return (
    <div className="flex gap-2 max-md:w-full max-md:overflow-x-auto max-md:py-1 max-md:[scrollbar-width:none] md:contents">
      <ChoiceFilter
        label={t('filter.status')}
        value={get('status')}
        choices={statuses}
        onChoose={status => set({ status })}
      />
      <ChoiceFilter
        label={t('filter.type')}
        anyLabel={t('filter.any')}
        value={get('type')}
        choices={types}
        onChoose={type => set({ type })}
      />
      <ChoiceFilter
        label={t('filter.receiver')}
        anyLabel={t('filter.any')}
        value={get('endpoint_id')}
        choices={receivers}
        onChoose={endpoint_id => set({ endpoint_id })}
      />
      <PeriodFilter get={get} set={set} />
    </div>
  )
}

interface ResendFailedProps {
  filter: ResendFilter
  /** Whether the user has chosen a period. */
  hasPeriod: boolean
}

function ResendFailed({ filter, hasPeriod }: ResendFailedProps) {
  const t = useTranslations('deliveries')
  const api = useApi()
  const queryClient = useQueryClient()
  const [isConfirming, setConfirming] = useState(false)
  const { data } = useSuspenseQuery(deliveryQueries.failed(api, filter))
  const resend = useMutation({
    mutationFn: (idempotencyKey: string) =>
      api.post('/webhooks/deliveries/resend', {
        body: filter,
        idempotencyKey,
      }),
    onSuccess: async () => {
      setConfirming(false)
      await queryClient.invalidateQueries({ queryKey: deliveryQueries.all(api) })
    },
  })
  const { failed } = data
  return (
    <div
      className={failed > 0 || resend.data ? 'ml-auto flex min-h-9 items-center gap-3' : 'sr-only'}
    >
      <span role="status" className="text-muted text-small">
        {resend.data ? <ResentCount {...resend.data} /> : null}
      </span>
      {failed > 0 ? (
        <button
          type="button"
          onClick={() => {
            resend.reset()
            setConfirming(true)
          }}
          className="min-h-9 font-semibold text-accent text-small hover:underline"
        >
          {t('resendFailed', { count: failed })}
        </button>
      ) : null}
      {isConfirming ? (
        <LazyDialog
          onClose={() => setConfirming(false)}
          title={t('resendFailedTitle', { count: failed })}
          description={
            hasPeriod
              ? t.rich('resendFailedPeriod', {
                  count: failed,
                  from: () => <ExactTime at={filter.from} format="second" />,
                  to: () => (filter.to ? <ExactTime at={filter.to} format="second" /> : t('now')),
                })
              : t('resendFailedText', { count: failed, days: RESEND_DAYS_MAX })
          }
        >
          <div className="grid gap-4">
            <WebhookProblem error={resend.error} />
            <LazyDialogActions
              action={t('resend')}
              isBusy={resend.isPending}
              onCancel={() => setConfirming(false)}
              onConfirm={() => resend.mutate(crypto.randomUUID())}
            />
          </div>
        </LazyDialog>
      ) : null}
    </div>
  )
}

function ResentCount({ resent: count, more: hasMore }: DeliveriesResent) {
  const t = useTranslations('deliveries')
  return hasMore ? t('resentMore', { count }) : t('resentAll', { count })
}
