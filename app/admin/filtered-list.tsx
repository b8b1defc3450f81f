'use client'

import { Clock, Inbox } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ChoiceFilter, SearchFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { useFilters } from '#components/filters/use-filters.ts'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'

interface FilteredListProps {
  namespace: 'accounts' | 'adminPeople' | 'adminTokens' | 'disputes'
  statuses: { value: string; label: string }[]
  pending?: number
  nextCursor: string | null
  children: ReactNode
}

export function FilteredList({ namespace, statuses, pending = 0, ...list }: FilteredListProps) {
  const t = useTranslations()
  const { get, set, clear, isSet, isPending } = useFilters<'q' | 'status'>()
  const key = isSet ? 'noneFit' : 'none'
  const texts = { title: t(`${namespace}.${key}`), text: t(`${namespace}.${key}Text`) }
  return (
    <>
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <SearchFilter
          label={t(`${namespace}.search`)}
          value={get('q')}
          onSearch={q => set({ q: truncateToken(q) }, true)}
        />
        <ChoiceFilter
          label={t(`${namespace}.status`)}
          value={get('status')}
          choices={statuses}
          onChoose={status => set({ status })}
        />
        {pending > 0 && get('status') !== 'pending' ? (
          <button
            type="button"
            onClick={() => set({ status: 'pending' })}
            className="inline-flex h-9 items-center gap-1.5 rounded-chip bg-wait-soft px-3.5 font-semibold text-small text-wait"
          >
            <Clock size={14} aria-hidden />
            {t('accounts.pendingCount', { count: pending })}
          </button>
        ) : null}
      </div>
      <ListBody error={null} isPending={isPending} nextCursor={list.nextCursor}>
        {list.children ?? (
          <Sheet>
            {isSet ? (
              <NoMatches {...texts} clear={clear} />
            ) : (
              <EmptyState icon={Inbox} {...texts} />
            )}
          </Sheet>
        )}
      </ListBody>
    </>
  )
}

/** Returns only the start of a pasted token, because servers and proxies log URLs. */
function truncateToken(q: string): string {
  return q.replace(/^(troco_(?:test|live)_[0-9A-Za-z]{9})[0-9A-Za-z]*$/, '$1')
}
