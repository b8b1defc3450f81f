import { Ban, ShieldAlert, ShieldCheck, UserCog } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import type { PersonLine } from '#lib/operator/schema.ts'

export function PersonList({ people }: { people: PersonLine[] }) {
  const t = useTranslations('adminPeople')
  const columns: Column<PersonLine>[] = [
    { head: t('name'), cell: person => <PersonName person={person} />, card: 'title' },
    {
      head: t('accounts'),
      width: '130px',
      cell: ({ account_count: count }) => t('accountCount', { count }),
      look: 'muted',
      card: 'left',
    },
    {
      head: t('protection'),
      width: '275px',
      cell: person =>
        person.has_second_factor || person.is_admin ? <FactorState person={person} /> : null,
      card: 'detail',
    },
    {
      head: t('lastSeen'),
      width: '165px',
      cell: ({ last_used_at: at }) =>
        at ? (
          <span className="relative z-10">
            <RelativeTime isInRow at={at} side="end" />
          </span>
        ) : (
          t('neverSeen')
        ),
      look: 'muted',
      card: 'right',
    },
  ]
  return <DataList label={t('title')} columns={columns} items={people} keyOf={({ id }) => id} />
}

function PersonName({ person }: { person: PersonLine }) {
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
        <Link
          href={`/admin/people/${person.id}`}
          prefetch={false}
          className={`min-w-0 wrap-anywhere font-medium ${ROW_LINK}`}
        >
          {person.name}
        </Link>
        <PersonState person={person} />
      </div>
      <p className="wrap-anywhere text-muted text-small">{person.email}</p>
    </>
  )
}

export function PersonState({ person }: { person: PersonLine }) {
  const t = useTranslations('adminPeople')
  return (
    <>
      {person.is_admin ? (
        <Chip tone="test" icon={UserCog}>
          {t('admin')}
        </Chip>
      ) : null}
      {person.is_disabled ? (
        <Chip tone="bad" icon={Ban}>
          {t('disabled')}
        </Chip>
      ) : null}
    </>
  )
}

type Guarded = Pick<PersonLine, 'has_second_factor' | 'is_admin'>

/** An admin needs a second factor; for others its absence is only a fact. */
export function FactorState({ person }: { person: Guarded }) {
  const t = useTranslations('adminPeople')
  const hasFactor = person.has_second_factor
  const Icon = hasFactor ? ShieldCheck : ShieldAlert
  const color = hasFactor ? 'text-ok' : person.is_admin ? 'text-wait' : 'text-muted'
  return (
    <span className={`flex items-center gap-1.5 text-small ${color}`}>
      <Icon size={15} aria-hidden className="shrink-0" />
      {t(hasFactor ? 'factor' : 'noFactor')}
    </span>
  )
}
