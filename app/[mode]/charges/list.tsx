'use client'

import { Plus, QrCode } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ChargeFilters, UNSET } from '#app/[mode]/charges/filters.tsx'
import { ChargeSummary } from '#app/[mode]/charges/summary.tsx'
import { ListBody, NoneFit } from '#components/filters/list-body.tsx'
import { type ListPage, useLivePage } from '#components/filters/live-page.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { IfMay } from '#components/nav/may.tsx'
import { useApi } from '#components/nav/world.tsx'
import { ChargeRows } from '#components/status/charge-rows.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Empty } from '#components/ui/empty.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { ListedCharge } from '#lib/rooms/charges/schema.ts'

const LIVE_MS = 4_000

interface ChargeListProps {
  /** What the address asks for, as the API takes it; the filters are the same for every page. */
  asked: Record<string, string>
  filters: Record<string, string>
  first: ListPage<ListedCharge>
}

/** The charges that the address asks for; they are read again while one of them is pending. */
export function ChargeList({ asked, filters, first }: ChargeListProps) {
  const t = useTranslations('charges')
  const address = useFilters()
  const path = `/transactions?${new URLSearchParams(asked)}`
  const { data, error } = useLivePage(path, first, LIVE_MS)
  const clear = () => address.set(UNSET)
  const isFiltered = Object.keys(filters).length > 0
  const isEmpty = data.data.length === 0
  return (
    <>
      <ChargeFilters {...address} />
      {isEmpty && !isFiltered ? null : <ChargeSummary filters={filters} clear={clear} />}
      <ListBody error={error} isPending={address.isPending} nextCursor={data.next_cursor}>
        {isEmpty ? (
          <NoCharges clear={isFiltered ? clear : null} />
        ) : (
          <ChargeRows label={t('title')} created={t('created')} charges={data.data} />
        )}
      </ListBody>
    </>
  )
}

function NoCharges({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations('charges')
  const { world } = useApi()
  return (
    <Sheet>
      {clear ? (
        <NoneFit title={t('noneFit')} text={t('noneFitText')} clear={clear} />
      ) : (
        <Empty icon={QrCode} title={t('none')} text={t('noneText')}>
          <IfMay do="transactions:write">
            <Link
              href={`/${world.mode}/charges/new`}
              prefetch={false}
              className={buttonClass('quiet')}
            >
              <Plus size={17} aria-hidden />
              {t('new')}
            </Link>
          </IfMay>
        </Empty>
      )}
    </Sheet>
  )
}
