import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { JOBS_ID, WORKERS_ID } from '#app/admin/health/jobs.tsx'
import type { Check } from '#lib/operator/schema.ts'
import type { CheckName, Subject } from '#lib/operator/states.ts'

export const LINK_CLASS = 'font-semibold text-accent hover:underline'

const CAUSE_PATHS = {
  accounts: '/admin/accounts',
  banks: '/admin/banks',
  tokens: '/admin/tokens',
  people: '/admin/people',
  peopleWithoutFactor: '/admin/people?status=without_factor',
  jobs: `#${JOBS_ID}`,
  workers: `#${WORKERS_ID}`,
} as const

/** Where the cause is shown; null where it names its subjects, or a command (docs/decisions/063). */
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

const SUBJECT_PATHS: Record<Subject['kind'], (id: string) => string> = {
  account: id => `/admin/accounts/${id}`,
  bank: id => `/admin/banks/${id}`,
  withdrawal: id => `/admin/trace?id=${id}`,
  refund: id => `/admin/trace?id=${id}`,
  return: () => '/admin/reconciliation?kind=order_contradicted',
}

/** Leads to what the check is about, else to where the cause is shown. */
export function CauseLink({ check: { name, subjects = [] } }: { check: Check }) {
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
