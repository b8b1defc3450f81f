'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import {
  ActorName,
  EXACT_FILTERS,
  type ExactFilter,
  useActionText,
} from '#components/audit/rows.tsx'
import { ExportButton } from '#components/filters/export-button.tsx'
import {
  ChoiceFilter,
  ClearOnlyFilter,
  PeriodFilter,
  SearchFilter,
} from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, type Filters, useFilters } from '#components/filters/use-filters.ts'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { Button } from '#components/ui/button.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { CodeText, ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { ACTION_GROUPS } from '#lib/audit/actions.ts'
import type { AuditLine } from '#lib/audit/schema.ts'

const loadDialogs = () => import('#components/audit/dialogs.tsx')
const AuditDetails = lazyDialog(loadDialogs, 'AuditDetails')
const ExactDialog = lazyDialog(loadDialogs, 'ExactDialog')

interface AuditListProps {
  isStaff: boolean
  query: QueryOf<'/admin/audit'>
}

export function AuditList({ isStaff, query }: AuditListProps) {
  const t = useTranslations('audit')
  const api = useApi()
  const urlFilters = useFilters<FilterName<'/admin/audit'>>()
  const [shownLine, setShownLine] = useState<AuditLine | null>(null)
  const { data, error } = useSuspenseQuery(accountQueries.audit(api, isStaff, query))
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !urlFilters.isSet ? null : <AuditFilters isStaff={isStaff} {...urlFilters} />}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {!isEmpty ? (
          <AuditRows isStaff={isStaff} lines={data.data} onShow={setShownLine} />
        ) : (
          <Sheet>
            {urlFilters.isSet ? (
              <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={urlFilters.clear} />
            ) : (
              <EmptyState icon={ScrollText} title={t('none')} text={t('noneText')} />
            )}
          </Sheet>
        )}
      </ListBody>
      {shownLine ? (
        <AuditDetails
          line={shownLine}
          isStaff={isStaff}
          onClose={() => setShownLine(null)}
          onFilter={changes => {
            setShownLine(null)
            urlFilters.clear(changes)
          }}
        />
      ) : null}
    </>
  )
}

interface RowsProps {
  isStaff: boolean
  lines: AuditLine[]
  onShow: (line: AuditLine) => void
}

function AuditRows({ isStaff, lines, onShow }: RowsProps) {
  const t = useTranslations('audit')
  const account: Column<AuditLine> = {
    head: t('account'),
    width: '20%',
    cell: ({ account }) =>
      account && <span className={`text-muted ${TWO_LINES}`}>{account.name}</span>,
    title: ({ account }) => account?.name,
    card: 'detail',
  }
  const columns: Column<AuditLine>[] = [
    {
      head: t('action'),
      cell: line => <ShowButton line={line} onShow={onShow} />,
      card: 'title',
    },
    {
      head: t('actor'),
      width: isStaff ? '22%' : '26%',
      cell: ({ actor }) => (
        <span className={TWO_LINES}>
          <ActorName actor={actor} />
        </span>
      ),
      title: ({ actor }) => actor.email ?? undefined,
      card: 'left',
    },
    ...(isStaff ? [account] : []),
    {
      head: t('ip'),
      width: isStaff ? '14%' : '18%',
      cell: ({ ip }) => ip && <CodeText code={ip} />,
    },
    {
      head: t('when'),
      width: isStaff ? '14%' : '16%',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime isInRow at={at} side="end" />
        </span>
      ),
      look: 'muted',
      card: 'aside',
    },
  ]
  return <DataList label={t('title')} columns={columns} items={lines} keyOf={({ id }) => id} />
}

function ShowButton({ line, onShow }: Pick<RowsProps, 'onShow'> & { line: AuditLine }) {
  const actionText = useActionText()
  return (
    <button
      type="button"
      aria-haspopup="dialog"
      onClick={() => onShow(line)}
      className={`text-left font-medium ${ROW_LINK}`}
    >
      {actionText(line.action)}
      <ObjectName line={line} />
    </button>
  )
}

const NAMES = ['name', 'email', 'url', 'role'] as const
const SHORT_ID_LENGTH = 8

/** What the action was about: its name as recorded, else the end of its id. */
function ObjectName({ line: { before, after, target } }: { line: AuditLine }) {
  const recorded = { ...before, ...after }
  const name = NAMES.map(key => recorded[key]).find(value => typeof value === 'string')
  const text = name ?? (target && `…${target.slice(-SHORT_ID_LENGTH)}`)
  if (!text) return null
  return <span className={`font-normal text-muted text-small ${TWO_LINES}`}>{text}</span>
}

interface ExportAuditProps {
  isStaff: boolean
  filters: QueryOf<'/admin/audit'>
}

export function ExportAudit({ isStaff, filters }: ExportAuditProps) {
  const t = useTranslations('audit')
  const locale = useLocale()
  const api = useApi()
  const path = isStaff ? '/admin/audit/export' : '/dashboard/audit/export'
  return (
    <ExportButton
      read={signal => api.fetchRaw(path, { query: { ...filters, locale }, signal })}
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

/** Groups of actions that only the operator's log contains. */
const STAFF_GROUPS = ['connection', 'demo', 'merchant', 'receipt_key', 'user']

interface FiltersProps extends Pick<Filters<FilterName<'/admin/audit'>>, 'get' | 'set'> {
  isStaff: boolean
}

function AuditFilters({ isStaff, get, set }: FiltersProps) {
  const t = useTranslations('audit')
  const translateGroup = useTranslations('auditGroup')
  const [isOpen, setOpen] = useState(false)
  const groups = ACTION_GROUPS.filter(group => isStaff || !STAFF_GROUPS.includes(group))
  const choices = groups
    .map(group => ({ value: `${group}.*`, label: groupLabel(translateGroup, group) }))
    .toSorted((one, other) => one.label.localeCompare(other.label))
  const activeExactFilters = (Object.keys(EXACT_FILTERS) as ExactFilter[]).filter(
    name => get(name) !== '',
  )
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchFilter label={t('search')} value={get('q')} onSearch={q => set({ q }, true)} />
      <PeriodFilter get={get} set={set} />
      <ChoiceFilter
        label={t('action')}
        anyLabel={t('every')}
        value={get('action')}
        choices={choices}
        onChoose={action => set({ action })}
      />
      {activeExactFilters.map(name => (
        <ClearOnlyFilter
          key={name}
          label={t(EXACT_FILTERS[name])}
          value={get(name)}
          onClear={() => set({ [name]: null })}
        />
      ))}
      <Button
        variant="plain"
        onClick={() => setOpen(true)}
        className="min-h-9 text-small max-md:-ml-2.5 md:-mr-2.5"
      >
        {t('more')}
      </Button>
      {isOpen ? (
        <ExactDialog
          names={isStaff ? ['actor', 'account', 'target'] : ['actor', 'target']}
          get={get}
          onClose={() => setOpen(false)}
          onApply={changes => {
            setOpen(false)
            set(changes)
          }}
        />
      ) : null}
    </div>
  )
}

type GroupTranslator = ReturnType<typeof useTranslations<'auditGroup'>>

function groupLabel(t: GroupTranslator, group: (typeof ACTION_GROUPS)[number]): string {
  return t(group)
}
