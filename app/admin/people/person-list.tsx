import { Ban, ShieldAlert, ShieldCheck, UserCog } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { ListSheet } from '#components/ui/sheet.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import type { PersonLine } from '#lib/operator/schema.ts'

export function PersonList({ people }: { people: PersonLine[] }) {
  const t = useTranslations('adminPeople')
  return (
    <ListSheet>
      <ul aria-label={t('title')}>
        {people.map(person => (
          <li
            key={person.id}
            className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-6 gap-y-1.5 border-line px-4 py-3.5 not-first:border-t has-[a:hover]:bg-paper md:px-[18px] @table:grid-cols-[minmax(0,1fr)_7rem_15rem_10rem]"
          >
            <div className="min-w-0">
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
            </div>
            <p className="text-right text-muted text-small @table:text-left">
              {t('accountCount', { count: person.account_count })}
            </p>
            <div className="@table:order-none">
              {person.has_second_factor || person.is_admin ? <FactorState person={person} /> : null}
            </div>
            <p className="text-right text-muted text-small">
              {person.last_used_at ? (
                <span className="relative z-10">
                  <RelativeTime at={person.last_used_at} side="end" />
                </span>
              ) : (
                t('neverSeen')
              )}
            </p>
          </li>
        ))}
      </ul>
    </ListSheet>
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
