'use client'

import { useQuery } from '@tanstack/react-query'
import { UserCheck } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { Notice } from '#components/ui/sheet.tsx'
import type { WaitingWithdrawal } from '#lib/dashboard/schema.ts'

const REFRESH_MS = 5_000

/** Returns the withdrawals of the account and mode that wait for approval, and keeps them current. */
export function useWaiting(initialData: WaitingWithdrawal[]): WaitingWithdrawal[] {
  const api = useApi()
  const { data } = useQuery({
    queryKey: ['waiting', api.scope],
    queryFn: async ({ signal }) => {
      const path = '/dashboard/withdrawals/waiting'
      return (await api.get(path, { signal })).data
    },
    initialData,
    refetchInterval: REFRESH_MS,
    // 0, so that a later visit starts with the server's data instead of this cache.
    gcTime: 0,
  })
  return data
}

/** Notice of withdrawals that this member can approve; renders nothing if there are none. */
export function WaitingNotice({ waiting }: { waiting: WaitingWithdrawal[] }) {
  const t = useTranslations('approvals')
  const { scope } = useApi()
  const own = waiting.filter(one => one.can_approve)
  const [first] = own
  if (!first) return null
  return (
    <div className="mb-4">
      <Notice tone="wait" icon={UserCheck} role="status">
        {t('waitForYou', { count: own.length })}{' '}
        <Link
          href={`/${scope.mode}/withdrawals/${first.id}`}
          prefetch={false}
          className="font-semibold underline"
        >
          {t('check', { count: own.length })}
        </Link>
      </Notice>
    </div>
  )
}

/** The notice on the home page, where the search button of phones is to its right. */
export function LiveWaitingNotice({ initialData }: { initialData: WaitingWithdrawal[] }) {
  return (
    <div className="max-lg:mr-14">
      <WaitingNotice waiting={useWaiting(initialData)} />
    </div>
  )
}
