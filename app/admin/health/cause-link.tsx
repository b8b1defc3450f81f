import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { JOBS_ID } from '#app/admin/health/jobs.tsx'
import { WORKERS_ID } from '#app/admin/health/workers.tsx'
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
} as const

/**
 * Where the cause of a warning is shown. The database, its migrations, roles and backups, and the settings of the
 * server have no page: what to do there is a command, which the warning names.
 */
const CAUSES: Partial<Record<CheckName, keyof typeof CAUSE_PATHS>> = {
  workers: 'workers',
  charges: 'jobs',
  withdrawals: 'jobs',
  refunds: 'jobs',
  deliveries: 'jobs',
  mails: 'jobs',
  search: 'workers',
  clocks: 'workers',
  gateway: 'banks',
  certificates: 'banks',
  receivers: 'accounts',
  endpoints: 'accounts',
  mail_server: 'jobs',
  ended: 'audit',
  ledger: 'accounts',
  audit_log: 'audit',
  staff: 'peopleWithoutFactor',
  tokens: 'tokens',
  addresses: 'people',
}

/** Leads to where the cause of a warning is shown. */
export function CauseLink({ name }: { name: CheckName }) {
  const t = useTranslations('health')
  const cause = CAUSES[name]
  if (!cause) return null
  return (
    <Link href={CAUSE_PATHS[cause]} prefetch={false} className={LINK_CLASS}>
      {t(`cause.${cause}`)}
    </Link>
  )
}
