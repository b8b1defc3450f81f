import { CircleAlert, Hourglass, Plus, UserCheck } from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { getTranslations } from 'next-intl/server'
import { WithdrawalList } from '#app/[mode]/withdrawals/list.tsx'
import { Prefetched, readerFor, seed } from '#components/api/prefetch.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { withdrawalQueries } from '#components/queries/withdrawals.ts'
import { buttonClass } from '#components/ui/button-class.ts'
import { PageHead } from '#components/ui/page-head.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { isRuleOff } from '#lib/accounts/schema.ts'
import { isMoneyOutClosed } from '#lib/banks/closures.ts'
import { connectionIn } from '#lib/banks/served.ts'
import { readApprovalSettings } from '#lib/dashboard/approval-rule.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { listWaiting } from '#lib/dashboard/timeline.ts'
import { readFilters } from '#lib/dashboard/url-filters.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'
import {
  listShownWithdrawals,
  shownWithdrawalsQuery,
  totalWithdrawals,
} from '#lib/withdrawals/queries.ts'

interface WithdrawalsPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('withdrawals'))('title') }
}

export default async function WithdrawalsPage({ params, searchParams }: WithdrawalsPageProps) {
  const { account, mode, user } = await requireMember(params)
  const connectionId = connectionIn(mode, account.payingConnectionId)
  const [t, search, waiting, rule, isClosed] = await Promise.all([
    getTranslations('withdrawals'),
    searchParams,
    listWaiting(account.id, mode, user.id),
    readApprovalSettings(account.id, user.id),
    connectionId !== null && mode === 'live' && isMoneyOutClosed(connectionId),
  ])
  const { apiParams, filters, query } = readFilters(search, shownWithdrawalsQuery, account.timeZone)
  const asked = hideFromViewer(user, query)
  const isViewing = user.viewing !== null
  const [{ rows, nextCursor }, total] = await Promise.all([
    listShownWithdrawals(account.id, mode, asked, { isViewing }),
    totalWithdrawals(account.id, mode, asked, { isViewing }),
  ])
  const reader = readerFor(mode, user, account)
  return (
    <>
      <PageHead title={t('title')}>
        <IfAllowed permission="withdrawals:write">
          <Link
            href={`/${mode}/withdrawals/new`}
            prefetch={false}
            className={buttonClass('primary')}
          >
            <Plus size={17} aria-hidden />
            {t('new')}
          </Link>
        </IfAllowed>
      </PageHead>
      {connectionId === null || isClosed ? (
        <div className="mb-4">
          <Notice tone="wait" icon={connectionId === null ? CircleAlert : Hourglass}>
            {t(connectionId === null ? 'disabled' : 'closed')}
          </Notice>
        </div>
      ) : null}
      {rule.approvers > 1 && isRuleOff(rule) ? (
        <IfAllowed permission="settings:write">
          <div className="mb-4">
            <Notice tone="wait" icon={UserCheck}>
              {t('suggestion')}{' '}
              <Link href={`/${mode}/settings`} prefetch={false} className="font-semibold underline">
                {t('suggestionLink')}
              </Link>
            </Notice>
          </div>
        </IfAllowed>
      ) : null}
      <ClientMessages
        namespaces={['withdrawals', 'withdrawalStatus', 'rejection', 'pixKey', 'approvals']}
      >
        <Prefetched
          seeds={[
            seed(withdrawalQueries.waiting(reader), hideFromViewer(user, waiting)),
            seed(withdrawalQueries.list(reader, apiParams), {
              data: hideFromViewer(user, rows),
              next_cursor: nextCursor,
              total,
            }),
          ]}
        >
          <WithdrawalList query={apiParams} filters={filters} />
        </Prefetched>
      </ClientMessages>
    </>
  )
}
