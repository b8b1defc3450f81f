import { Plus } from 'lucide-react'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { Deliveries } from '#app/[mode]/webhooks/deliveries.tsx'
import { DeliveryPanel } from '#app/[mode]/webhooks/delivery-panel.tsx'
import { resendFilterOf } from '#app/[mode]/webhooks/resend-filter.ts'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { deliveryQueries } from '#components/queries/deliveries.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { isTrocoError } from '#lib/core/errors.ts'
import type { Mode } from '#lib/core/mode.ts'
import { listDeliveriesByReference, resolveReference } from '#lib/dashboard/deliveries.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import type { SessionAccount } from '#lib/session/schema.ts'
import { countFailed, readDelivery } from '#lib/webhooks/deliveries.ts'
import { listEndpoints } from '#lib/webhooks/endpoints.ts'
import { type DeliveriesQuery, deliveriesQuery } from '#lib/webhooks/schema.ts'

const PAGE_SIZE = 25

export interface DeliveriesViewProps {
  params: Promise<{ mode: string; id?: string }>
  searchParams: Promise<SearchParams>
}

/** Shows the list and the delivery in the URL: beside the list, on phones instead of the list. */
export async function DeliveriesView({ params, searchParams }: DeliveriesViewProps) {
  const { account, mode, user } = await requireMember(params)
  const { id } = await params
  const { timeZone } = account
  const read = readFilters(await searchParams, deliveriesQuery, timeZone, PAGE_SIZE)
  const { apiParams, query } = hideFromViewer(user, read)
  const [t, page, endpoints, resendable, delivery] = await Promise.all([
    getTranslations('webhooks'),
    listDeliveriesByReference(account.id, mode, query),
    listEndpoints(account.id, mode),
    countResendable(account.id, mode, query),
    id ? findDelivery(account, mode, id) : undefined,
  ])
  const reader = readerFor(mode, user, account)
  return (
    <>
      <PageHead title={t('title')}>
        <IfAllowed permission="webhooks:write">
          <Link
            href={`/${mode}/webhooks/endpoints/new`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            <Plus size={17} aria-hidden />
            {t('newEndpoint')}
          </Link>
        </IfAllowed>
      </PageHead>
      <ClientMessages namespaces={['webhooks', 'deliveries', 'deliveryProblem']}>
        <Prefetched
          seeds={[
            seed(deliveryQueries.list(reader, apiParams), {
              data: hideFromViewer(user, page.rows),
              next_cursor: page.nextCursor,
            }),
            ...(resendable
              ? [
                  seed(deliveryQueries.failed(reader, resendable.filter), {
                    failed: resendable.count,
                  }),
                ]
              : []),
            ...(delivery
              ? [
                  seed(deliveryQueries.one(reader, delivery.id), {
                    data: hideFromViewer(user, delivery),
                  }),
                ]
              : []),
          ]}
        >
          <Deliveries
            query={apiParams}
            resendable={resendable?.filter}
            endpoints={hideFromViewer(user, endpoints).map(({ id, url }) => ({ id, url }))}
            selectedId={delivery?.id}
          >
            {delivery ? <DeliveryPanel key={delivery.id} id={delivery.id} /> : null}
          </Deliveries>
        </Prefetched>
      </ClientMessages>
    </>
  )
}

async function countResendable(accountId: string, mode: Mode, query: DeliveriesQuery) {
  const filter = resendFilterOf(query)
  if (!filter) return null
  const count = await countFailed(accountId, mode, await resolveReference(accountId, mode, filter))
  return { filter, count }
}

async function findDelivery({ id: accountId }: SessionAccount, mode: Mode, id: string) {
  return readDelivery(accountId, mode, id).catch(error => {
    if (isTrocoError(error) && error.code === 'delivery_not_found') notFound()
    throw error
  })
}
