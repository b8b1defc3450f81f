'use client'

import { useTranslations } from 'next-intl'
import { hostAndPathOf } from '#app/[mode]/webhooks/delivery-row.tsx'
import { ChoiceFilter } from '#components/filters/filter-chip.tsx'
import { PeriodFilter } from '#components/filters/period-filter.tsx'
import type { Endpoint } from '#lib/webhooks/schema.ts'
import { DELIVERY_STATUSES, EVENT_GROUPS, EVENT_TYPES, NO_ENDPOINT } from '#lib/webhooks/states.ts'

interface DeliveryFiltersProps {
  get: (name: string) => string
  set: (changes: Record<string, string | null>) => void
  endpoints: Pick<Endpoint, 'id' | 'url'>[]
}

export function DeliveryFilters({ get, set, endpoints }: DeliveryFiltersProps) {
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
