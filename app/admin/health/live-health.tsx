'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { Check as CheckMark, CircleAlert, TriangleAlert } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { JOBS_ID, Jobs, WORKERS_ID, Workers } from '#app/admin/health/jobs.tsx'
import { Problem } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useDurations } from '#components/format/format.tsx'
import { operatorQueries } from '#components/queries/operator.ts'
import { LEVEL_STYLES } from '#components/status/state-chips.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Code } from '#components/ui/code.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import { numberFormat } from '#lib/core/locale.ts'
import type { Check, Level } from '#lib/operator/schema.ts'
import {
  CHECK_GROUPS,
  type CheckGroupName,
  type CheckName,
  type FindingSubject,
} from '#lib/operator/states.ts'

export function LiveHealth() {
  const { data, error } = useSuspenseQuery(operatorQueries.health(useApi()))
  return (
    <div className="grid gap-8">
      {error ? <Problem error={error} /> : null}
      <HealthSummary checks={data.checks} />
      <Checks checks={data.checks} />
      <Jobs jobs={data.jobs} />
      <Workers workers={data.workers} />
    </div>
  )
}

function HealthSummary({ checks }: { checks: Check[] }) {
  const t = useTranslations('health')
  const list = new Intl.ListFormat(useLocale(), { type: 'conjunction' })
  const count = (level: Check['level']) => checks.filter(check => check.level === level).length
  const counts = {
    problems: count('problem'),
    warnings: count('warning'),
    stuck: checks.reduce((sum, { stuck = 0 }) => sum + stuck, 0),
  }
  const found = (['problems', 'warnings', 'stuck'] as const)
    .filter(name => counts[name] > 0)
    .map(name => t(name, { count: counts[name] }))
  const style =
    counts.problems > 0
      ? { icon: CircleAlert, tone: 'bg-bad-soft text-bad' }
      : found.length > 0
        ? { icon: TriangleAlert, tone: 'bg-wait-soft text-wait' }
        : { icon: CheckMark, tone: 'bg-ok-soft text-ok' }
  return (
    <p
      role="status"
      data-testid="health-verdict"
      className={`flex items-center gap-3 rounded-sheet px-4 py-3.5 font-semibold md:px-6 ${style.tone}`}
    >
      <style.icon size={20} aria-hidden />
      {found.length === 0 ? t('allWell') : list.format(found)}
    </p>
  )
}

/** First what needs attention, problems before warnings and stuck work; then all that is well, by group. */
function Checks({ checks }: { checks: Check[] }) {
  const ofLevel = (level: Level) => checks.filter(check => check.level === level)
  const well = ofLevel('ok').filter(({ stuck }) => stuck === undefined)
  const stuck = ofLevel('ok').filter(({ stuck }) => stuck !== undefined)
  return (
    <div className="grid gap-6">
      <CheckGroup
        name="attention"
        checks={[...ofLevel('problem'), ...ofLevel('warning'), ...stuck]}
      />
      {(Object.keys(CHECK_GROUPS) as CheckGroupName[]).map(name => {
        const names: readonly CheckName[] = CHECK_GROUPS[name]
        return (
          <CheckGroup
            key={name}
            name={name}
            checks={well.filter(check => names.includes(check.name))}
          />
        )
      })}
    </div>
  )
}

interface CheckGroupProps {
  name: CheckGroupName | 'attention'
  checks: Check[]
}

function CheckGroup({ name, checks }: CheckGroupProps) {
  const t = useTranslations('health')
  if (checks.length === 0) return null
  return (
    <section aria-labelledby={`health-${name}`}>
      <h2 id={`health-${name}`} className="mb-2.5 text-title">
        {t(`group.${name}`)}
      </h2>
      <ListSheet>
        <ul>
          {checks.map(check => (
            <CheckRow key={keyOf(check)} check={check} />
          ))}
        </ul>
      </ListSheet>
    </section>
  )
}

/** A bank has a line of its own, and one for each kind of call that it blocks. */
function keyOf({ name, state, figures }: Check): string {
  return [name, figures.name, figures.operation && `${state} ${figures.operation}`].join(' ')
}

function CheckRow({ check }: { check: Check }) {
  const t = useTranslations('health')
  const formatFigures = useFigures()
  return (
    <li
      data-testid={`check-${check.name}`}
      className="grid items-baseline gap-x-6 gap-y-1 border-line px-4 py-3 not-first:border-t @max-table:grid-cols-[minmax(0,1fr)_auto] @table:grid-cols-[13rem_minmax(0,1fr)_auto] @table:px-6"
    >
      <span className="font-medium">{t(`check.${check.name}`)}</span>
      <span className="break-words text-muted text-small @max-table:order-last @max-table:col-span-2">
        {t(`said.${check.state}`, formatFigures(check.figures))}
        {check.stuck ? (
          <>
            {' '}
            <a href={`#${JOBS_ID}`} className={LINK_CLASS}>
              {check.level === 'ok' ? t('cause.jobs') : t('stuck', { count: check.stuck })}
            </a>
          </>
        ) : null}
        {check.level === 'ok' ? null : (
          <span className="mt-1 block text-ink">
            <span className="font-semibold">{t('whatToDo')}: </span>
            <Advice text={t(`advice.${check.state}`)} /> <CauseLink check={check} />
          </span>
        )}
      </span>
      <StateChip check={check} />
    </li>
  )
}

/** Shows the parts between backticks as code. */
function Advice({ text }: { text: string }) {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 0 ? part : <Code key={part}>{part}</Code>))
}

function StateChip({ check: { level, stuck } }: { check: Check }) {
  const t = useTranslations('health')
  return level === 'ok' && stuck ? (
    <Chip {...LEVEL_STYLES.warning}>{t('stuck', { count: stuck })}</Chip>
  ) : (
    <Chip {...LEVEL_STYLES[level]}>{t(`level.${level}`)}</Chip>
  )
}

const BYTE_UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

/** Returns a formatter of figures, by the unit suffix of their names: `_s`, `_ms`, `_bytes`. */
function useFigures() {
  const locale = useLocale()
  const { inWords } = useDurations()
  const formatUnit = (value: number, name: string) =>
    numberFormat(locale, {
      style: 'unit',
      unit: name,
      unitDisplay: 'short',
      maximumFractionDigits: 1,
    }).format(value)
  const formatSize = (bytes: number) => {
    const step = Math.max(
      0,
      Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log(bytes) / Math.log(1_000))),
    )
    return formatUnit(bytes / 1_000 ** step, BYTE_UNITS[step] ?? 'byte')
  }
  return (figures: Record<string, number | string>) =>
    Object.fromEntries(
      Object.entries(figures).map(([name, value]) => {
        if (typeof value === 'string') return [name, value]
        if (name.endsWith('_s')) return [name, inWords(value)]
        if (name.endsWith('_ms')) return [name, formatUnit(value, 'millisecond')]
        return [name, name.endsWith('_bytes') ? formatSize(value) : value]
      }),
    )
}

const LINK_CLASS = 'font-semibold text-accent hover:underline'

const CAUSE_PATHS = {
  accounts: '/admin/accounts',
  banks: '/admin/banks',
  tokens: '/admin/tokens',
  people: '/admin/people',
  peopleWithoutFactor: '/admin/people?status=without_factor',
  jobs: `#${JOBS_ID}`,
  workers: `#${WORKERS_ID}`,
} as const

/** Where the cause is shown; null where it names its subjects, or a command (docs/decisions/071). */
const CAUSES: Record<CheckName, keyof typeof CAUSE_PATHS | null> = {
  workers: 'workers',
  charges: 'jobs',
  withdrawals: 'jobs',
  refunds: 'jobs',
  deliveries: 'jobs',
  mails: 'jobs',
  search: 'workers',
  gateway: 'banks',
  certificates: 'banks',
  receivers: 'accounts',
  endpoints: 'accounts',
  mail_server: 'jobs',
  ended: null,
  database: null,
  connections: null,
  transactions: null,
  durability: null,
  clocks: 'workers',
  migrations: null,
  roles: null,
  backups: null,
  drill: null,
  ledger: 'accounts',
  address: null,
  staff: 'peopleWithoutFactor',
  tokens: 'tokens',
}

const SUBJECT_PATHS: Record<FindingSubject['kind'], (id: string) => string> = {
  account: id => `/admin/accounts/${id}`,
  bank: id => `/admin/banks/${id}`,
  withdrawal: id => `/admin/trace?id=${id}`,
  refund: id => `/admin/trace?id=${id}`,
  return: () => '/admin/reconciliation?kind=order_contradicted',
}

/** Leads to what the check is about, else to where the cause is shown. */
function CauseLink({ check: { name, subjects = [] } }: { check: Check }) {
  const t = useTranslations('health')
  const cause = CAUSES[name]
  if (subjects.length > 0)
    return subjects.map(({ kind, id, name }) => (
      <Link
        key={id}
        href={SUBJECT_PATHS[kind](id)}
        prefetch={false}
        className={`${LINK_CLASS} block w-fit break-all`}
      >
        {t(`subject.${kind}`, { name })}
      </Link>
    ))
  if (!cause) return null
  return (
    <Link href={CAUSE_PATHS[cause]} prefetch={false} className={LINK_CLASS}>
      {t(`cause.${cause}`)}
    </Link>
  )
}
