'use client'

import { Inbox } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { ItemState, useConnectionName, useKindName } from '#app/admin/reconciliation/names.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ExportButton } from '#components/filters/export-button.tsx'
import { ChoiceFilter, useFilters } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { EmptyState, ListSheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, ROW_LINK, Row, Table } from '#components/ui/table.tsx'
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
      <ListSheet>
        {items.length > 0 ? (
          <Items items={items} />
        ) : isSet ? (
          <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={clear} />
        ) : (
          <EmptyState icon={Inbox} title={t('none')} text={t('noneText')} />
        )}
      </ListSheet>
    </ListBody>
  )
}

function Items({ items }: { items: DifferenceLine[] }) {
  const t = useTranslations('differences')
  return (
    <>
      <Table aria-label={t('list')}>
        <thead>
          <tr>
            <HeaderCell>{t('column.what')}</HeaderCell>
            <HeaderCell width="190px">{t('column.state')}</HeaderCell>
            <HeaderCell width="165px">{t('column.created')}</HeaderCell>
            <HeaderCell width="170px" side="right">
              {t('column.amount')}
            </HeaderCell>
          </tr>
        </thead>
        <tbody>
          {items.map(item => (
            <Row key={item.id}>
              <Cell>
                <ItemName item={item} />
              </Cell>
              <Cell>
                <ItemState item={item} />
              </Cell>
              <Cell className="text-muted text-small">
                <RelativeTime at={item.created_at} />
              </Cell>
              <Cell className="text-right font-semibold">
                {item.amount === null ? '—' : <Money cents={item.amount} />}
              </Cell>
            </Row>
          ))}
        </tbody>
      </Table>
      <ul className="@table:hidden">
        {items.map(item => (
          <li
            key={item.id}
            className="relative grid gap-2 border-line px-4 py-3.5 not-first:border-t"
          >
            <div className="flex items-start justify-between gap-3">
              <div className="min-w-0">
                <ItemName item={item} />
              </div>
              <span className="shrink-0 font-semibold">
                {item.amount === null ? '—' : <Money cents={item.amount} />}
              </span>
            </div>
            <div className="flex flex-wrap items-center justify-between gap-2">
              <ItemState item={item} />
              <span className="text-muted text-small">
                <RelativeTime at={item.created_at} />
              </span>
            </div>
          </li>
        ))}
      </ul>
    </>
  )
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
  const { get, set } = useFilters()
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
