'use client'

import { Inbox } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { ItemState, useConnectionName, useKindName } from '#app/admin/reconciliation/names.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ChoiceFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, useFilters } from '#components/filters/use-filters.ts'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import {
  DIFFERENCE_AGES,
  DIFFERENCE_STATES,
  type DifferenceLine,
} from '#lib/operator/differences/schema.ts'

interface ItemListProps {
  items: DifferenceLine[]
  nextCursor: string | null
}

export function ItemList({ items, nextCursor }: ItemListProps) {
  const t = useTranslations('differences')
  const { clear, isSet, isPending } = useFilters()
  return (
    <ListBody error={null} isPending={isPending} nextCursor={nextCursor}>
      {items.length > 0 ? (
        <Items items={items} />
      ) : (
        <Sheet>
          {isSet ? (
            <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={clear} />
          ) : (
            <EmptyState icon={Inbox} title={t('none')} text={t('noneText')} />
          )}
        </Sheet>
      )}
    </ListBody>
  )
}

function Items({ items }: { items: DifferenceLine[] }) {
  const t = useTranslations('differences')
  const columns: Column<DifferenceLine>[] = [
    { head: t('column.what'), cell: item => <ItemName item={item} />, card: 'title' },
    {
      head: t('column.state'),
      width: '190px',
      cell: item => <ItemState item={item} />,
      card: 'left',
    },
    {
      head: t('column.created'),
      width: '165px',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime isInRow at={at} />
        </span>
      ),
      look: 'muted',
      card: 'right',
    },
    {
      head: t('column.amount'),
      width: '170px',
      cell: ({ amount }) => (amount === null ? null : <Money cents={amount} />),
      look: 'amount',
      card: 'aside',
    },
  ]
  return <DataList label={t('list')} columns={columns} items={items} keyOf={({ id }) => id} />
}

function ItemName({ item }: { item: DifferenceLine }) {
  const t = useTranslations('differences')
  const kindName = useKindName()
  const connectionName = useConnectionName()
  return (
    <>
      <Link
        href={`/admin/reconciliation/${item.id}`}
        prefetch={false}
        className={`block font-medium ${ROW_LINK}`}
      >
        {kindName(item.kind)}
      </Link>
      <span className="block wrap-anywhere text-muted text-small">
        {connectionName(item.connection.name)} · {t(`mode.${item.mode}`)}
      </span>
    </>
  )
}

interface DifferenceFiltersProps {
  connections: DifferenceLine['connection'][]
  kinds: string[]
}

export function DifferenceFilterBar({ connections, kinds }: DifferenceFiltersProps) {
  const t = useTranslations('differences')
  const kindName = useKindName()
  const connectionName = useConnectionName()
  const { get, set } = useFilters<FilterName<'/admin/differences'>>()
  const state = get('state') || 'open'
  const choices = {
    kind: kinds.map(value => ({ value, label: kindName(value) })),
    connection: connections.map(({ id, name }) => ({ value: id, label: connectionName(name) })),
    age: DIFFERENCE_AGES.map(value => ({ value, label: t(`age.${value}`) })),
  }
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <ChoiceFilter
        label={t('filter.state')}
        value={state === 'all' ? '' : state}
        choices={DIFFERENCE_STATES.map(value => ({ value, label: t(`state.${value}`) }))}
        onChoose={value => set({ state: value || 'all' })}
      />
      {(['kind', 'connection', 'age'] as const).map(name => (
        <ChoiceFilter
          key={name}
          label={t(`filter.${name}`)}
          value={get(name)}
          choices={choices[name]}
          onChoose={value => set({ [name]: value })}
        />
      ))}
    </div>
  )
}

export function ExportDifferences({ filters }: { filters: QueryOf<'/admin/differences'> }) {
  const t = useTranslations('differences')
  const locale = useLocale()
  const api = useApi()
  return (
    <ExportButton
      read={signal =>
        api.fetchRaw('/admin/differences/export', { query: { ...filters, locale }, signal })
      }
      labels={{
        save: t('export'),
        stop: t('stop'),
        broken: t('exportBroken'),
        saving: rows => t('exporting', { rows }),
        saved: rows => t('exported', { rows }),
      }}
    />
  )
}
