'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ArrowLeftRight } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RequestPath, RequestStatus } from '#app/[mode]/requests/status.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import { ChoiceFilter, PeriodFilter } from '#components/filters/filters.tsx'
import { ListBody, NoMatches } from '#components/filters/list-body.tsx'
import { type FilterName, type Filters, useFilters } from '#components/filters/use-filters.ts'
import { useDurations } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { EmptyState, Sheet } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { LoggedRequest } from '#lib/dashboard/requests/schema.ts'

interface RequestListProps {
  query: QueryOf<'/requests'>
  kinds: RequestKinds
}

export function RequestList({ query, kinds }: RequestListProps) {
  const filters = useFilters<FilterName<'/requests'>>()
  const api = useApi()
  const { data, error } = useSuspenseQuery(accountQueries.requests(api, query))
  const isEmpty = data.data.length === 0
  return (
    <>
      {isEmpty && !filters.isSet ? null : <RequestFilters {...filters} kinds={kinds} />}
      <ListBody error={error} isPending={filters.isPending} nextCursor={data.next_cursor}>
        {isEmpty ? (
          <NoRequests clear={filters.isSet ? filters.clear : null} />
        ) : (
          <RequestRows requests={data.data} />
        )}
      </ListBody>
    </>
  )
}

function NoRequests({ clear }: { clear: (() => void) | null }) {
  const t = useTranslations('requests')
  const { mode } = useApi().scope
  return (
    <Sheet>
      {clear ? (
        <NoMatches title={t('noneFit')} text={t('noneFitText')} clear={clear} />
      ) : (
        <EmptyState icon={ArrowLeftRight} title={t('none')} text={t('noneText')}>
          <Link href={`/${mode}/settings/tokens`} prefetch={false} className={buttonClass('quiet')}>
            {t('toTokens')}
          </Link>
        </EmptyState>
      )}
    </Sheet>
  )
}

function RequestRows({ requests }: { requests: LoggedRequest[] }) {
  const t = useTranslations('requests')
  const { callDuration } = useDurations()
  const columns: Column<LoggedRequest>[] = [
    { head: t('one'), cell: request => <RequestLink request={request} />, card: 'title' },
    {
      head: t('status'),
      width: '25%',
      cell: request => <RequestStatus request={request} />,
      card: 'left',
    },
    {
      head: t('token_id'),
      width: '12%',
      cell: ({ token_name: name }) => <span className={`text-muted ${TWO_LINES}`}>{name}</span>,
      isWideOnly: true,
    },
    {
      head: t('duration'),
      width: '104px',
      cell: ({ duration_ms: duration }) => callDuration(duration),
      look: 'figure',
    },
    {
      head: t('time'),
      width: '140px',
      cell: ({ created_at: at }) => (
        <span className="relative z-10">
          <RelativeTime isInRow at={at} side="end" />
        </span>
      ),
      look: 'muted',
      card: 'right',
    },
  ]
  return <DataList label={t('title')} columns={columns} items={requests} keyOf={({ id }) => id} />
}

function RequestLink({ request }: { request: LoggedRequest }) {
  const { id, mode, method } = request
  return (
    <Link
      href={`/${mode}/requests/${id}`}
      prefetch={false}
      className={`block font-mono text-[13px] leading-[1.5] ${ROW_LINK}`}
    >
      <span className="font-semibold">{method}</span> <RequestPath request={request} />
    </Link>
  )
}

const STATUSES = ['failed', '2xx', '4xx', '5xx'] as const
const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'].map(asChoice)

/** Values that the requests of the account have. */
interface RequestKinds {
  tokens: { id: string; name: string }[]
  paths: string[]
  codes: string[]
}

interface RequestFiltersProps extends Pick<Filters<FilterName<'/requests'>>, 'get' | 'set'> {
  kinds: RequestKinds
}

function RequestFilters({ get, set, kinds }: RequestFiltersProps) {
  const t = useTranslations('requests')
  const choices = {
    status: STATUSES.map(value => ({ value, label: t(`class.${value}`) })),
    method: METHODS,
    path: kinds.paths.map(asChoice),
    code: kinds.codes.map(asChoice),
    token_id: kinds.tokens.map(({ id, name }) => ({ value: id, label: name })),
  }
  const names = Object.keys(choices) as (keyof typeof choices)[]
  return (
    <div className="mb-4 flex items-center gap-2 max-md:overflow-x-auto max-md:py-1 max-md:[scrollbar-width:none] md:flex-wrap">
      {names.map(name => (
        <ChoiceFilter
          key={name}
          label={t(name)}
          anyLabel={t('any')}
          value={get(name)}
          choices={withValue(choices[name], get(name))}
          onChoose={value => set({ [name]: value })}
        />
      ))}
      <PeriodFilter get={get} set={set} />
    </div>
  )
}

interface Choice {
  value: string
  label: string
}

function asChoice(value: string): Choice {
  return { value, label: value }
}

/** Adds a value that a link chose, such as one status. */
function withValue(choices: Choice[], value: string): Choice[] {
  const isListed = value === '' || choices.some(choice => choice.value === value)
  return isListed ? choices : [...choices, asChoice(value)]
}
