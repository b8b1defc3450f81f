'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { UserCheck } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { Notice } from '#components/ui/sheet.tsx'

/** Notice of withdrawals that this member can approve; renders nothing if there are none. */
export function WaitingNotice() {
  const t = useTranslations('approvals')
  const api = useApi()
  const { scope } = api
  const { data: waiting } = useSuspenseQuery(withdrawalQueries.waiting(api))
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
export function LiveWaitingNotice() {
  return (
    <div className="max-lg:mr-14">
      <WaitingNotice />
    </div>
  )
}
