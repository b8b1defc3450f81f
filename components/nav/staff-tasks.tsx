'use client'

import { useQuery } from '@tanstack/react-query'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useSyncExternalStore } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { operatorQueries } from '#components/queries/operator.ts'
import { LEVEL_STYLES } from '#components/status/state-chips.tsx'
import { TONES } from '#components/ui/chip.tsx'
import type { StaffTask } from '#lib/operator/schema.ts'

/** Sections of the operator's pages. */
export type StaffSection =
  | 'overview'
  | 'accounts'
  | 'banks'
  | 'reconciliation'
  | 'staffDisputes'
  | 'health'
  | 'people'
  | 'staffTokens'
  | 'audit'
  | 'trace'

/** Where each task is done. */
export const STAFF_TASK_PLACES: Record<StaffTask['name'], { section: StaffSection; href: string }> =
  {
    problems: { section: 'health', href: '/admin/health' },
    disputes: { section: 'staffDisputes', href: '/admin/disputes?status=open' },
    differences: { section: 'reconciliation', href: '/admin/reconciliation' },
    certificates: { section: 'banks', href: '/admin/banks' },
    stuck: { section: 'health', href: '/admin/health#health-jobs' },
    accounts: { section: 'accounts', href: '/admin/accounts?status=pending' },
    live: { section: 'accounts', href: '/admin/accounts?status=live_requested' },
    warnings: { section: 'health', href: '/admin/health' },
  }

/**
 * Reads the tasks on each page and every half minute. Until then they are those that the server rendered: the rail,
 * which has none, may be hydrated after the response.
 */
export function useStaffTasks(rendered: StaffTask[] = []): StaffTask[] {
  const api = useApi()
  const path = usePathname()
  const isHydrated = useSyncExternalStore(
    subscribeToNothing,
    () => true,
    () => false,
  )
  const { data } = useQuery(operatorQueries.tasks(api, path))
  return isHydrated && data ? data : rendered
}

const subscribeToNothing = () => () => {}

const COUNT_MAX = 99

interface StaffCountProps {
  sections: readonly StaffSection[]
  className: string
}

/** How much waits in sections of the operator's pages; nothing if nothing does. */
export function StaffCount({ sections, className }: StaffCountProps) {
  const t = useTranslations('nav')
  const tasks = useStaffTasks().filter(({ name }) =>
    sections.includes(STAFF_TASK_PLACES[name].section),
  )
  const count = tasks.reduce((sum, task) => sum + task.count, 0)
  if (count === 0) return null
  const level = tasks.some(task => task.level === 'problem') ? 'problem' : 'warning'
  return (
    <span
      data-testid="staff-count"
      className={`grid h-5 min-w-5 place-items-center rounded-chip px-1.5 font-semibold text-[11.5px] tabular-nums ${TONES[LEVEL_STYLES[level].tone]} ${className}`}
    >
      <span aria-hidden>{count > COUNT_MAX ? `${COUNT_MAX}+` : count}</span>
      <span className="sr-only">{t('waiting', { count })}</span>
    </span>
  )
}
