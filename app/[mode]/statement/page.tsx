import {
  ArrowDownLeft,
  ArrowUpRight,
  CornerUpLeft,
  type LucideIcon,
  Scale,
  ScrollText,
  SearchX,
  ShieldAlert,
  Undo2,
} from 'lucide-react'
import type { Metadata } from 'next'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { getTranslations } from 'next-intl/server'
import { type ReactNode, Suspense } from 'react'
import { StatementExport, StatementFilters } from '#app/[mode]/statement/filters.tsx'
import { Pager } from '#components/filters/list-body.tsx'
import { ClientMessages } from '#components/format/client-messages.tsx'
import { Day, ExactTime, HeroMoney, Money, moneyText } from '#components/format/format.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { PageHead } from '#components/ui/page-head.tsx'
import { EmptyState, Sheet, Skeleton } from '#components/ui/sheet.tsx'
import { CodeText, ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { ownReference } from '#lib/charges/states.ts'
import { log } from '#lib/core/log.ts'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import { dayInZone } from '#lib/dashboard/period.ts'
import type { SearchParams, StatementRow } from '#lib/dashboard/schema.ts'
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
  const isAllTime = search.period === 'all'
  return (
    <ClientMessages namespaces={['statement']}>
      <PageHead title={t('title')}>
        <StatementExport format="csv" />
        <StatementExport format="ofx" />
      </PageHead>
      <StatementFilters defaultPeriod={STATEMENT_PERIOD}>
        <StatementSummary {...range}>
          <Suspense fallback={<CreditDebitTotalsLoading />} key={`${range.first}-${range.end}`}>
            <Totals accountId={account.id} mode={mode} range={range} />
          </Suspense>
        </StatementSummary>
        {rows.length > 0 ? (
          <StatementRows
            rows={hideFromViewer(user, rows)}
            timeZone={account.timeZone}
            mode={mode}
          />
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

interface StatementSummaryProps {
  opening: number
  closing: number
  children: ReactNode
}

function StatementSummary({ opening, closing, children }: StatementSummaryProps) {
  const t = useTranslations('statement')
  return (
    <Sheet className="mb-6 px-4 py-4 lg:px-[18px] lg:py-5">
      <dl
        aria-label={t('summary')}
        className="flex flex-wrap gap-4 xl:grid xl:grid-cols-[1fr_1fr_1fr_auto] xl:items-end"
      >
        <Sum name={t('opening')} className="max-xl:basis-full">
          <Money cents={opening} />
        </Sum>
        {children}
        <div className="max-xl:order-first max-xl:basis-full xl:border-line xl:border-l xl:pl-8">
          <dt className="text-muted text-small">{t('closing')}</dt>
          <dd className="mt-1.5 text-[28px] leading-none">
            <HeroMoney cents={closing} testId="closing" />
          </dd>
        </div>
      </dl>
    </Sheet>
  )
}

interface SumProps {
  name: string
  className?: string
  children: ReactNode
}

function Sum({ name, className = '', children }: SumProps) {
  return (
    <div className={`grow basis-2/5 ${className}`}>
      <dt className="text-muted text-small">{name}</dt>
      <dd className="mt-1 min-h-[26px] font-semibold text-[17px]">{children}</dd>
    </div>
  )
}

/** Sums of credits and debits; `totals` is null if reading them failed. */
function CreditDebitTotals({ totals }: { totals: { in: number; out: number } | null }) {
  const t = useTranslations('statement')
  if (!totals) {
    return (
      <Sum name={`${t('in')} · ${t('out')}`}>
        <span className="font-medium text-bad text-small">{t('notAdded')}</span>
      </Sum>
    )
  }
  return (
    <>
      <Sum name={t('in')}>
        <SignedMoney cents={totals.in} />
      </Sum>
      <Sum name={t('out')}>
        <SignedMoney cents={-totals.out} />
      </Sum>
    </>
  )
}

function CreditDebitTotalsLoading() {
  const t = useTranslations('statement')
  return (
    <>
      {[t('in'), t('out')].map(name => (
        <Sum key={name} name={name}>
          <span className="sr-only">{t('adding')}</span>
          <Skeleton className="h-[22px] w-28" />
        </Sum>
      ))}
    </>
  )
}

interface NoMovementsProps {
  /** Whether the page shows all movements, so that the account has none at all. */
  isAllTime: boolean
  mode: Mode
}

function NoMovements({ isAllTime, mode }: NoMovementsProps) {
  const t = useTranslations('statement')
  return (
    <Sheet>
      {isAllTime ? (
        <EmptyState icon={ScrollText} title={t('none')} text={t('noneText')} />
      ) : (
        <EmptyState icon={SearchX} title={t('noneFit')} text={t('noneFitText')}>
          <Link
            href={`/${mode}/statement?period=all`}
            prefetch={false}
            className={buttonClass('quiet')}
          >
            {t('allTime')}
          </Link>
        </EmptyState>
      )}
    </Sheet>
  )
}

interface StatementRowsProps {
  rows: StatementRow[]
  /** The time zone in which the merchant's days begin. */
  timeZone: string
  mode: Mode
}

function StatementRows({ rows, timeZone, mode }: StatementRowsProps) {
  const t = useTranslations('statement')
  const columns: Column<StatementRow>[] = [
    {
      head: t('column.when'),
      width: '124px',
      cell: ({ created_at: at }) => <ExactTime at={at} format="minute" />,
      look: 'muted',
      card: 'left',
    },
    {
      head: t('column.what'),
      cell: row => <MovementLink row={row} mode={mode} />,
      card: 'title',
    },
    {
      head: t('column.reference'),
      width: '20%',
      cell: row => {
        const code = ownReference(row.charge_id, row.external_id)
        return code ? <CodeText code={code} /> : null
      },
      isWideOnly: true,
      card: 'detail',
    },
    {
      head: t('column.amount'),
      width: '190px',
      cell: ({ amount }) => <SignedMoney cents={amount} />,
      look: 'amount',
      card: 'aside',
    },
    {
      head: t('column.balance'),
      width: '182px',
      cell: row => (
        <span className="text-muted @max-table:text-small">
          <Money cents={row.balance_after} />
        </span>
      ),
      look: 'right',
      card: 'right',
      isNamedOnCard: true,
    },
  ]
  return (
    <DataList
      label={t('title')}
      columns={columns}
      items={rows}
      keyOf={({ version }) => version}
      group={{
        keyOf: ({ created_at: at }) => dayInZone(new Date(at), timeZone),
        head: ({ created_at: at }) => <Day at={at} />,
      }}
    />
  )
}

const ICONS: Record<StatementRow['kind'], LucideIcon> = {
  charge_paid: ArrowDownLeft,
  withdrawal_held: ArrowUpRight,
  withdrawal_returned: Undo2,
  payout_returned: Undo2,
  unmatched_credited: ArrowDownLeft,
  refund_held: CornerUpLeft,
  dispute_held: ShieldAlert,
  dispute_won: Undo2,
  owed_repaid: ShieldAlert,
  corrected: Scale,
  payment_returned: CornerUpLeft,
  refund_returned: Undo2,
}

interface MovementLinkProps {
  row: StatementRow
  mode: Mode
}

function MovementLink({ row, mode }: MovementLinkProps) {
  const t = useTranslations('statement')
  const { kind, charge_id, withdrawal_id, client_name, pix_key_type, dict_key } = row
  const Icon = ICONS[kind]
  const path = charge_id ? `charges/${charge_id}` : withdrawal_id && `withdrawals/${withdrawal_id}`
  const key = pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : null
  const tone = row.amount > 0 ? 'bg-ok-soft text-ok' : 'bg-off-soft text-off'
  return (
    <span className="flex min-w-0 items-center gap-3">
      <span
        aria-hidden
        className={`grid size-[23px] shrink-0 place-items-center rounded-chip ${tone}`}
      >
        <Icon size={13} strokeWidth={2.2} />
      </span>
      <span className="min-w-0">
        {path ? (
          <Link
            href={`/${mode}/${path}`}
            prefetch={false}
            className={`block font-medium ${ROW_LINK}`}
          >
            {t(`kind.${kind}`)}
          </Link>
        ) : (
          <span className="block font-medium">{t(`kind.${kind}`)}</span>
        )}
        <span className={`text-muted text-small ${TWO_LINES}`}>{client_name || key}</span>
      </span>
    </span>
  )
}

function SignedMoney({ cents }: { cents: number }) {
  const sign = cents > 0 ? '+' : cents < 0 ? '\u2212' : ''
  return (
    <span className={`whitespace-nowrap ${cents > 0 ? 'text-ok' : ''}`}>
      {sign} {moneyText(Math.abs(cents), useLocale())}
    </span>
  )
}
