'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ScrollText } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, type SubmitEvent, useState } from 'react'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ActorName, AuditRows, useActionText } from '#components/audit/rows.tsx'
import { ExportButton } from '#components/filters/export-button.tsx'
import {
  ChoiceFilter,
  ClearOnlyFilter,
  PeriodFilter,
  SearchFilter,
  useFilters,
} from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { ExactTime, moneyText } from '#components/format/format.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ACTION_GROUPS } from '#lib/audit/actions.ts'
import type { AuditLine, AuditValues } from '#lib/audit/schema.ts'
import { BANK_NAMES } from '#lib/banks/states.ts'
import { MODES, type Mode } from '#lib/core/mode.ts'

interface AuditListProps {
  isStaff: boolean
  query: QueryOf<'/admin/audit'>
}

export function AuditList({ isStaff, query }: AuditListProps) {
  const t = useTranslations('audit')
  const api = useApi()
  const urlFilters = useFilters()
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

const EXACT_FILTERS = {
  account: 'accountFilter',
  actor: 'personFilter',
  target: 'targetFilter',
} as const
type ExactFilter = keyof typeof EXACT_FILTERS

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

interface DetailsProps {
  line: AuditLine
  isStaff: boolean
  onClose: () => void
  onFilter: (changes: Record<string, string>) => void
}

function AuditDetails({ line, isStaff, onClose, onFilter }: DetailsProps) {
  const t = useTranslations('audit')
  const { mode } = useApi().scope
  const { actor, account, target } = line
  const actionText = useActionText()
  const targetPath = targetPathOf(line, mode, isStaff)
  return (
    <Dialog isOpen onClose={onClose} title={actionText(line.action)}>
      <Facts>
        <Fact name={t('when')}>
          <ExactTime at={line.created_at} format="millisecond" />
        </Fact>
        <Fact name={t('actor')}>
          <ActorName actor={actor} />
          {actor.email && actor.email !== actor.name ? (
            <span className="block text-muted text-small">{actor.email}</span>
          ) : null}
          {actor.id ? (
            <FilterButton onPress={() => onFilter({ actor: actor.id ?? '' })}>
              {t('onlyActor')}
            </FilterButton>
          ) : null}
        </Fact>
        {isStaff && account ? (
          <Fact name={t('account')}>
            {account.name}
            <FilterButton onPress={() => onFilter({ account: account.id })}>
              {t('onlyAccount')}
            </FilterButton>
          </Fact>
        ) : null}
        {line.reason ? <Fact name={t('reason')}>{line.reason}</Fact> : null}
        {line.before || line.after ? (
          <Fact name={t('change')}>
            <Changes before={line.before} after={line.after} />
          </Fact>
        ) : null}
        {target ? (
          <Fact name={t('target')}>
            <Code>{target}</Code>
            <span className="flex flex-wrap items-baseline gap-x-4">
              {targetPath ? (
                <Link
                  href={targetPath}
                  prefetch={false}
                  className="font-semibold text-accent text-small hover:underline"
                >
                  {t('open')}
                </Link>
              ) : null}
              <FilterButton onPress={() => onFilter({ target })}>{t('onlyTarget')}</FilterButton>
            </span>
          </Fact>
        ) : null}
        {line.ip ? (
          <Fact name={t('ip')}>
            <Code>{line.ip}</Code>
          </Fact>
        ) : null}
        {line.request_id ? (
          <Fact name={t('request')}>
            <Code>{line.request_id}</Code>
            {isStaff ? (
              <Link
                href={`/admin/trace?id=${encodeURIComponent(line.request_id)}`}
                prefetch={false}
                className="font-semibold text-accent text-small hover:underline"
              >
                {t('open')}
              </Link>
            ) : null}
          </Fact>
        ) : null}
        <Fact name={t('code')}>
          <Code>{line.action}</Code>
        </Fact>
      </Facts>
    </Dialog>
  )
}

function Code({ children }: { children: string }) {
  return <code className="block break-all font-mono text-[13px] leading-6">{children}</code>
}

function FilterButton({ onPress, children }: { onPress: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      onClick={onPress}
      className="block min-h-6 font-semibold text-accent text-small hover:underline"
    >
      {children}
    </button>
  )
}

function targetPathOf(line: AuditLine, currentMode: Mode, isStaff: boolean): string | null {
  const { action, account, target, before, after } = line
  const group = action.split('.')[0]
  if (isStaff) return account ? `/admin/accounts/${account.id}` : null
  const recordedMode = after?.mode ?? before?.mode
  const basePath = `/${MODES.find(mode => mode === recordedMode) ?? currentMode}`
  if (group === 'token') return `${basePath}/settings/tokens`
  if (group === 'member' || group === 'invitation') return `${basePath}/settings/members`
  if (group === 'webhook_secret') return `${basePath}/webhooks/endpoints`
  if (group === 'webhook_endpoint') {
    return action.endsWith('.deleted') ? null : `${basePath}/webhooks/endpoints/${target}`
  }
  if (group === 'webhook_delivery') return `${basePath}/webhooks`
  if (group === 'withdrawal') return `${basePath}/withdrawals/${target}`
  if (group === 'charge') return `${basePath}/charges/${target}`
  return null
}

/** Names of the audited values that hold cents. */
const MONEY_FIELDS = [
  'amount',
  'charge_max',
  'withdrawal_max',
  'night_max',
  'day_max',
  'approval_above',
  'charge_review_above',
  'approval_day_above',
  'payout_max',
  'payout_day_max',
]

function Changes({ before, after }: Pick<AuditLine, 'before' | 'after'>) {
  const t = useTranslations('audit')
  const label = useFieldLabel()
  const text = useValueText()
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
  const changed = names.filter(
    name => !before || !after || JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  )
  return (
    <ul className="grid gap-1.5">
      {changed.map(name => {
        const [old, now] = [before?.[name], after?.[name]].map(value =>
          value === undefined ? null : text(name, value),
        )
        return (
          <li key={name} className="wrap-anywhere">
            <span className="text-muted">{label(name)}: </span>
            {old && now ? t('changed', { before: old, after: now }) : (now ?? old)}
          </li>
        )
      })}
    </ul>
  )
}

function useFieldLabel(): (name: string) => string {
  const t = useTranslations('auditField')
  return name => {
    const key = name as 'name'
    return t.has(key) ? t(key) : name
  }
}

function useValueText(): (name: string, value: AuditValues[string]) => string {
  const t = useTranslations('audit')
  const enumText = useEnumText()
  const locale = useLocale()
  return (name, value) => {
    if (value === null) return t('empty')
    if (typeof value === 'boolean') return value ? t('yes') : t('no')
    if (Array.isArray(value)) return value.length > 0 ? value.join(', ') : t('empty')
    if (typeof value === 'number') {
      return MONEY_FIELDS.includes(name) ? moneyText(value, locale) : String(value)
    }
    return name === 'name' ? value : enumText(value)
  }
}

function useEnumText(): (value: string) => string {
  const t = useTranslations('auditValue')
  return value => {
    const bank = Object.entries(BANK_NAMES).find(([kind]) => kind === value)
    if (bank) return bank[1]
    const key = value as 'owner'
    return /^\w+$/.test(value) && t.has(key) ? t(key) : value
  }
}
