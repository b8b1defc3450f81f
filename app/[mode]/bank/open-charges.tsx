'use client'

import { useQuery } from '@tanstack/react-query'
import { Inbox } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { Money, RelativeTime } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState } from '#components/ui/empty-state.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'

/** Refresh interval: the merchant's programs create charges while the page is open. */
const REFRESH_MS = 5_000

interface OpenChargesProps {
  charges: ListedCharge[]
  limit: number
  chosenId: string | undefined
}

export function OpenCharges({ charges, limit, chosenId }: OpenChargesProps) {
  const t = useTranslations('bank')
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['bank', api.scope],
    queryFn: ({ signal }) =>
      api.get<{ data: ListedCharge[] }>(`/transactions?status=pending&limit=${limit}`, signal),
    initialData: { data: charges },
    refetchInterval: REFRESH_MS,
  })
  return (
    <section>
      <h2 className="mb-2.5 text-title">{t('open')}</h2>
      <Sheet>
        {data.data.length === 0 ? (
          <EmptyState icon={Inbox} title={t('none')} text={t('noneHow')}>
            <IfAllowed permission="transactions:write">
              <Link href="/test/charges/new" prefetch={false} className={buttonClass('quiet')}>
                {t('create')}
              </Link>
            </IfAllowed>
          </EmptyState>
        ) : (
          <ul>
            {data.data.map(charge => (
              <OpenCharge key={charge.id} charge={charge} isChosen={charge.id === chosenId} />
            ))}
          </ul>
        )}
      </Sheet>
    </section>
  )
}

function OpenCharge({ charge, isChosen }: { charge: ListedCharge; isChosen: boolean }) {
  return (
    <li
      className={`relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-0.5 border-line px-4 py-3 not-first:border-t first:rounded-t-sheet last:rounded-b-sheet has-[a:hover]:bg-paper md:px-[18px] ${isChosen ? 'bg-accent-soft' : ''}`}
    >
      <Link
        href={`/test/bank?charge=${charge.id}`}
        prefetch={false}
        aria-current={isChosen ? 'true' : undefined}
        className={`rounded-[4px] font-medium ${ROW_LINK}`}
      >
        <span className={TWO_LINES}>{charge.client_name}</span>
      </Link>
      <span className="text-right font-semibold">
        <Money cents={charge.amount} />
      </span>
      <span className={`font-mono text-[12.5px] text-muted ${TWO_LINES}`}>
        {charge.external_id}
      </span>
      <span className="relative text-right text-muted text-small">
        <RelativeTime at={charge.created_at} side="end" />
      </span>
    </li>
  )
}
