import type { Metadata } from 'next'
import { getTranslations } from 'next-intl/server'
import { Suspense } from 'react'
import { ExportButton } from '#app/[mode]/statement/export-button.tsx'
import { StatementFilters } from '#app/[mode]/statement/filters.tsx'
import { NoMovements } from '#app/[mode]/statement/no-movements.tsx'
import { StatementRows } from '#app/[mode]/statement/rows.tsx'
import {
  CreditDebitTotals,
  CreditDebitTotalsLoading,
  StatementSummary,
} from '#app/[mode]/statement/summary.tsx'
import { Pager } from '#components/filters/list-body.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { dayOf } from '#lib/dashboard/period.ts'
import type { SearchParams } from '#lib/dashboard/schema.ts'
import { listStatement, STATEMENT_PERIOD, statementSpan } from '#lib/dashboard/statement.ts'
import { findStatementRange, type StatementRange, totalStatement } from '#lib/ledger/statement.ts'
import { hideFromViewer, requireMember } from '#lib/session/gate.ts'

interface StatementPageProps {
  params: Promise<{ mode: string }>
  searchParams: Promise<SearchParams>
}

export async function generateMetadata(): Promise<Metadata> {
  return { title: (await getTranslations('statement'))('title') }
}

export default async function StatementPage({ params, searchParams }: StatementPageProps) {
  const { account, mode, user } = await requireMember(params)
  const [t, search] = await Promise.all([getTranslations('statement'), searchParams])
  const range = await findStatementRange(account.id, mode, statementSpan(search, account.timeZone))
  const { rows, nextCursor } = await listStatement(account.id, mode, range, parseCursor(search))
  const days = rows.map(row => dayOf(new Date(row.created_at), account.timeZone))
  const isAllTime = search.period === 'all'
  return (
    <ClientMessages namespaces={['statement']}>
      <PageHead title={t('title')}>
        <ExportButton format="csv" />
        <ExportButton format="ofx" />
      </PageHead>
      <StatementFilters defaultPeriod={STATEMENT_PERIOD}>
        <StatementSummary {...range}>
          <Suspense fallback={<CreditDebitTotalsLoading />} key={`${range.first}-${range.end}`}>
            <Totals accountId={account.id} mode={mode} range={range} />
          </Suspense>
        </StatementSummary>
        {rows.length > 0 ? (
          <StatementRows rows={hideFromViewer(user, rows)} days={days} mode={mode} />
        ) : (
          <NoMovements isAllTime={isAllTime} mode={mode} />
        )}
        <Pager nextCursor={nextCursor} />
      </StatementFilters>
    </ClientMessages>
  )
}

interface TotalsProps {
  accountId: string
  mode: Mode
  range: StatementRange
}

/** Streamed after the rows: totals of a long period take longer than one page of rows. */
async function Totals({ accountId, mode, range }: TotalsProps) {
  const totals = await totalStatement(accountId, mode, range).catch(error => {
    log().error({ err: error, accountId, mode }, 'reading the statement totals failed')
    return null
  })
  return <CreditDebitTotals totals={totals} />
}

function parseCursor({ cursor }: SearchParams): number | undefined {
  return typeof cursor === 'string' && /^\d{1,15}$/.test(cursor) ? Number(cursor) : undefined
}
