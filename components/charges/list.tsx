'use client'

import { useQuery } from '@tanstack/react-query'
import { Plus, QrCode, SearchX } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChargeFilters, UNSET } from '#components/charges/filters.tsx'
import { ChargeRows } from '#components/charges/rows.tsx'
import { ChargeSummary } from '#components/charges/summary.tsx'
import { Pager } from '#components/filters/pager.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { IfMay } from '#components/may.tsx'
import { Problem } from '#components/problem.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { useApi } from '#components/world.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'

const LIVE_MS = 4_000

interface Page {
  data: ListedCharge[]
  next_cursor: string | null
}

interface ChargeListProps {
  /** What the address asks for, as the API takes it; the filters are the same for every page. */
  asked: Record<string, string>
  filters: Record<string, string>
  first: Page
}

/** The charges that the address asks for; they are read again while one of them is pending. */
export function ChargeList({ asked, filters, first }: ChargeListProps) {
  const api = useApi()
  const address = useFilters()
  const path = `/transactions?${new URLSearchParams(asked)}`
  const { data, error } = useQuery({
    queryKey: ['charges', api.world, path],
    queryFn: ({ signal }) => api.get<Page>(path, signal),
    initialData: first,
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'pending') ? LIVE_MS : false,
  })
  const clear = () => address.set(UNSET)
  const isFiltered = Object.keys(filters).length > 0
  const isEmpty = data.data.length === 0
  return (
    <>
      <ChargeFilters {...address} />
      {isEmpty && !isFiltered ? null : <ChargeSummary filters={filters} clear={clear} />}
      {error ? (
        <div className="mb-4">
          <Problem error={error} />
        </div>
      ) : null}
      <div
        aria-busy={address.isPending}
        className="transition-opacity duration-150 aria-busy:opacity-60"
      >
        {isEmpty ? (
          <NoCharges clear={isFiltered ? clear : null} />
        ) : (
          <ChargeRows charges={data.data} />
        )}
        <Pager nextCursor={data.next_cursor} />
      </div>
    </>
  )
}

function NoCharges({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations()
  const { world } = useApi()
  return (
    <Sheet>
      {clear ? (
        <Empty icon={SearchX} title={t('charges.noneFit')} text={t('charges.noneFitText')}>
          <Button look="quiet" onClick={clear}>
            {t('ui.clearAll')}
          </Button>
        </Empty>
      ) : (
        <Empty icon={QrCode} title={t('charges.none')} text={t('charges.noneText')}>
          <IfMay do="transactions:write">
            <Link
              href={`/${world.mode}/charges/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              <Plus size={17} aria-hidden />
              {t('charges.new')}
            </Link>
          </IfMay>
        </Empty>
      )}
    </Sheet>
  )
}
