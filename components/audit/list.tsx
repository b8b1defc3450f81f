'use client'

import { useQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { type SubmitEvent, useState } from 'react'
import { AuditDetails } from '#components/audit/details.tsx'
import { AuditRows } from '#components/audit/rows.tsx'
import { ExportButton } from '#components/filters/export-button.tsx'
import {
  ChoiceFilter,
  ClearOnlyFilter,
  PeriodFilter,
  SearchFilter,
} from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import type { ListPage } from '#components/filters/use-filters.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { useApi } from '#components/form/api.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ACTION_GROUPS } from '#lib/audit/actions.ts'
import type { AuditLine } from '#lib/audit/schema.ts'

interface AuditListProps {
  isStaff: boolean
  apiParams: Record<string, string>
  isFiltered: boolean
  initialData: ListPage<AuditLine>
}

export function AuditList({ isStaff, apiParams, isFiltered, initialData }: AuditListProps) {
  const t = useTranslations('audit')
  const api = useApi()
  const urlFilters = useFilters()
  const [shownLine, setShownLine] = useState<AuditLine | null>(null)
  const path = `${isStaff ? '/admin/audit' : '/dashboard/audit'}?${new URLSearchParams(apiParams)}`
  const { data, error } = useQuery({
    queryKey: ['page', api.scope, path],
    queryFn: ({ signal }) => api.get<ListPage<AuditLine>>(path, signal),
    initialData,
  })
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !isFiltered ? null : <AuditFilters isStaff={isStaff} {...urlFilters} />}
      <ListBody error={error} isPending={urlFilters.isPending} nextCursor={data.next_cursor}>
        {!isEmpty ? (
          <AuditRows isStaff={isStaff} lines={data.data} onShow={setShownLine} />
        ) : (
          <Sheet>
            {isFiltered ? (
              <NoMatches
                title={t('noneFit')}
                text={t('noneFitText')}
                clear={() => urlFilters.set(CLEARED_FILTERS)}
              />
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
            urlFilters.set({ ...CLEARED_FILTERS, ...changes })
          }}
        />
      ) : null}
    </>
  )
}

interface ExportAuditProps {
  isStaff: boolean
  filters: Record<string, string>
}

export function ExportAudit({ isStaff, filters }: ExportAuditProps) {
  const t = useTranslations('audit')
  const locale = useLocale()
  const query = new URLSearchParams({ locale, ...filters })
  return (
    <ExportButton
      path={`${isStaff ? '/admin' : '/dashboard'}/audit/export?${query}`}
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

const EXACT_FILTERS = {
  account: 'accountFilter',
  actor: 'personFilter',
  target: 'targetFilter',
} as const
type ExactFilter = keyof typeof EXACT_FILTERS

const CLEARED_FILTERS = Object.fromEntries(
  [...Object.keys(EXACT_FILTERS), 'action', 'q', 'period', 'from', 'to'].map(name => [name, null]),
)

/** Groups of actions that only the operator's log contains. */
const STAFF_GROUPS = ['connection', 'demo', 'merchant', 'receipt_key', 'user']

interface FiltersProps extends Pick<ReturnType<typeof useFilters>, 'get' | 'set'> {
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
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t('more')}>
        <ExactForm
          names={isStaff ? ['actor', 'account', 'target'] : ['actor', 'target']}
          get={get}
          onApply={changes => {
            setOpen(false)
            set(changes)
          }}
        />
      </Dialog>
    </div>
  )
}

type GroupTranslator = ReturnType<typeof useTranslations<'auditGroup'>>

function groupLabel(t: GroupTranslator, group: (typeof ACTION_GROUPS)[number]): string {
  return t(group)
}

interface ExactFormProps {
  names: ExactFilter[]
  get: (name: string) => string
  onApply: (changes: Record<string, string | null>) => void
}

function ExactForm({ names, get, onApply }: ExactFormProps) {
  const t = useTranslations('audit')
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onApply(Object.fromEntries(names.map(name => [name, String(data.get(name)).trim() || null])))
  }
  return (
    <form method="post" onSubmit={submit} className="grid gap-5">
      {names.map(name => (
        <Field
          key={name}
          label={t(EXACT_FILTERS[name])}
          name={name}
          maxLength={255}
          defaultValue={get(name)}
        />
      ))}
      <Button variant="primary" type="submit">
        {t('apply')}
      </Button>
    </form>
  )
}
