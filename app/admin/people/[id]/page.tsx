import type { Metadata } from 'next'
import Link from 'next/link'
import { notFound } from 'next/navigation'
import { getTranslations } from 'next-intl/server'
import { cache } from 'react'
import { PersonActions } from '#app/admin/people/[id]/person-actions.tsx'
import { FactorState, PersonState } from '#app/admin/people/person-list.tsx'
import { RecordLines } from '#components/audit/rows.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { Section } from '#components/ui/sheet.tsx'
import { listAudit } from '#lib/audit/queries.ts'
import { readPerson } from '#lib/operator/people.ts'
import type { PersonDetail } from '#lib/operator/schema.ts'
import { requireAdmin } from '#lib/session/gate.ts'

const RECORDS_SHOWN = 8

interface PersonPageProps {
  params: Promise<{ id: string }>
}

/** Cached per request, because the metadata and the page both read the person. */
const findPerson = cache(async (id: string) => (await readPerson(id)) ?? notFound())

export async function generateMetadata({ params }: PersonPageProps): Promise<Metadata> {
  await requireAdmin()
  return { title: (await findPerson((await params).id)).name }
}

export default async function PersonPage({ params }: PersonPageProps) {
  await requireAdmin()
  const person = await findPerson((await params).id)
  const [t, records] = await Promise.all([
    getTranslations('adminPeople'),
    listAudit({ staff: true }, { target: person.id, limit: RECORDS_SHOWN }),
  ])
  return (
    <ClientMessages namespaces={['adminPeople', 'adminDeed']}>
      <PageHead
        title={<span className="break-words">{person.name}</span>}
        parent={{ href: '/admin/people', label: t('title') }}
        state={person.is_admin || person.is_disabled ? <PersonState person={person} /> : null}
      />
      <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-6 xl:grid-cols-[minmax(0,1fr)_minmax(0,380px)]">
        <div className="grid min-w-0 gap-6">
          <Section title={t('access')} text={t(accessTextOf(person))}>
            {person.is_admin || person.is_disabled ? null : <PersonActions person={person} />}
          </Section>
          <Section title={t('accounts')}>
            <AccountLines person={person} />
          </Section>
          <Section title={t('records')}>
            {records.rows.length > 0 ? (
              <RecordLines
                label={t('records')}
                lines={records.rows}
                href={`/admin/audit?target=${person.id}`}
                hrefText={t('seeRecords')}
              />
            ) : (
              <p className="text-muted">{t('noRecords')}</p>
            )}
          </Section>
        </div>
        <Section title={t('about')}>
          <About person={person} />
        </Section>
      </div>
    </ClientMessages>
  )
}

function accessTextOf({ is_admin, is_disabled }: PersonDetail) {
  return is_disabled ? 'disabledText' : is_admin ? 'adminText' : 'accessText'
}

async function AccountLines({ person }: { person: PersonDetail }) {
  const t = await getTranslations()
  if (person.accounts.length === 0)
    return <p className="text-muted">{t('adminPeople.noAccounts')}</p>
  return (
    <ul aria-label={t('adminPeople.accounts')}>
      {person.accounts.map(({ id, name, role }) => (
        <li
          key={id}
          className="flex flex-wrap items-baseline justify-between gap-x-4 border-line py-2.5 not-first:border-t"
        >
          <Link
            href={`/admin/accounts/${id}`}
            prefetch={false}
            className="min-w-0 break-words font-medium hover:underline"
          >
            {name}
          </Link>
          <span className="text-muted text-small">{t(`settings.role.${role}`)}</span>
        </li>
      ))}
    </ul>
  )
}

async function About({ person }: { person: PersonDetail }) {
  const t = await getTranslations('adminPeople')
  return (
    <Facts>
      <Fact name={t('email')}>
        {person.email}
        <span className={`block text-small ${person.is_email_verified ? 'text-ok' : 'text-muted'}`}>
          {t(person.is_email_verified ? 'verified' : 'unverified')}
        </span>
      </Fact>
      <Fact name={t('secondFactor')}>
        <FactorState person={person} />
      </Fact>
      <Fact name={t('sessions')}>{person.session_count}</Fact>
      <Fact name={t('lastSeen')}>
        {person.last_used_at ? <RelativeTime at={person.last_used_at} /> : t('neverSeen')}
      </Fact>
      <Fact name={t('created')}>
        <RelativeTime at={person.created_at} />
      </Fact>
      <Fact name={t('id')}>
        <CopyValue name={t('id')} value={person.id} />
      </Fact>
    </Facts>
  )
}
