import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { JOBS_ID } from '#app/admin/health/jobs.tsx'
import { WORKERS_ID } from '#app/admin/health/workers.tsx'
import type { Check } from '#lib/views/admin/schema.ts'
import type { CheckName } from '#lib/views/admin/states.ts'

export const LINK_CLASS = 'font-semibold text-accent hover:underline'

const CAUSE_PATHS = {
  accounts: '/admin/accounts',
  banks: '/admin/banks',
  tokens: '/admin/tokens',
  audit: '/admin/audit',
  people: '/admin/people',
  peopleWithoutFactor: '/admin/people?status=without_factor',
  jobs: `#${JOBS_ID}`,
  workers: `#${WORKERS_ID}`,
  withdrawal: '/admin/trace',
} as const

/** Where the cause of a warning is shown; null where a command shows it (docs/decisions/063). */
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
  ended: 'withdrawal',
  database: null,
  connections: null,
  transactions: null,
  durability: null,
  clocks: 'workers',
  migrations: null,
  backfills: 'workers',
  roles: null,
  backups: null,
  drill: null,
  ledger: 'accounts',
  audit_log: 'audit',
  address: null,
  staff: 'peopleWithoutFactor',
  tokens: 'tokens',
  addresses: 'people',
}

/** Leads to where the cause of a warning is shown. */
export function CauseLink({ check: { name, figures } }: { check: Check }) {
  const t = useTranslations('health')
  const cause = CAUSES[name]
  if (!cause) return null
  if (cause === 'withdrawal') return <WithdrawalLinks ids={String(figures.names ?? '')} />
  return (
    <Link href={CAUSE_PATHS[cause]} prefetch={false} className={LINK_CLASS}>
      {t(`cause.${cause}`)}
    </Link>
  )
}

/** The check names each withdrawal by its id, separated by commas. */
function WithdrawalLinks({ ids }: { ids: string }) {
  const t = useTranslations('health')
  return ids.match(/[\w-]+/g)?.map(id => (
    <Link
      key={id}
      href={`${CAUSE_PATHS.withdrawal}?id=${id}`}
      prefetch={false}
      className={`${LINK_CLASS} block w-fit break-all`}
    >
      {t('cause.withdrawal', { id })}
    </Link>
  ))
}
