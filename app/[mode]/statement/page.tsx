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
import { PageHead } from '#components/ui/page-head.tsx'
import { EmptyState, ListSheet, Sheet, Skeleton } from '#components/ui/sheet.tsx'
import {
  Cell,
  CodeCell,
  HeaderCell,
  ROW_LINK,
  Row,
  Table,
  TWO_LINES,
  WIDE_ONLY,
} from '#components/ui/table.tsx'
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
  const days = rows.map(row => dayInZone(new Date(row.created_at), account.timeZone))
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
  /** Day of each row in the merchant's time zone. */
  days: string[]
  mode: Mode
}

function StatementRows({ rows, days, mode }: StatementRowsProps) {
  const t = useTranslations('statement')
  const groups = groupByDay(rows, days)
  return (
    <ListSheet>
      <Table aria-label={t('title')}>
        <thead>
          <tr>
            {COLUMNS.map(([name, width, side]) => (
              <HeaderCell key={name} width={width} side={side} isWideOnly={name === 'reference'}>
                {t(`column.${name}`)}
              </HeaderCell>
            ))}
          </tr>
        </thead>
        {groups.map(group => (
          <tbody key={group[0].version}>
            <tr className="border-line border-t bg-sunk">
              <th scope="rowgroup" colSpan={4} className={`${DAY_CLASS} px-[18px] text-left`}>
                <Day at={group[0].created_at} />
              </th>
              <td className={WIDE_ONLY} />
            </tr>
            {group.map(row => (
              <TableRow key={row.version} row={row} mode={mode} />
            ))}
          </tbody>
        ))}
      </Table>
      <div className="overflow-hidden rounded-sheet @table:hidden">
        {groups.map(group => (
          <section key={group[0].version} className="border-line not-first:border-t">
            <h2 className={`${DAY_CLASS} bg-sunk px-4 font-sans! tracking-normal!`}>
              <Day at={group[0].created_at} />
            </h2>
            <ul>
              {group.map(row => (
                <EntryCard key={row.version} row={row} mode={mode} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </ListSheet>
  )
}

const COLUMNS = [
  ['when', '124px', 'left'],
  ['what', undefined, 'left'],
  ['reference', '20%', 'left'],
  ['amount', '190px', 'right'],
  ['balance', '182px', 'right'],
] as const

const DAY_CLASS = 'py-2 font-semibold text-small text-ink'

function groupByDay(rows: StatementRow[], days: string[]): [StatementRow, ...StatementRow[]][] {
  const groups: [StatementRow, ...StatementRow[]][] = []
  rows.forEach((row, index) => {
    if (index > 0 && days[index] === days[index - 1]) groups.at(-1)?.push(row)
    else groups.push([row])
  })
  return groups
}

interface EntryProps {
  row: StatementRow
  mode: Mode
}

function TableRow({ row, mode }: EntryProps) {
  return (
    <Row>
      <Cell className="text-muted text-small">
        <ExactTime at={row.created_at} format="minute" />
      </Cell>
      <Cell>
        <MovementLink row={row} mode={mode} />
      </Cell>
      <CodeCell code={ownReference(row.charge_id, row.external_id)} className={WIDE_ONLY} />
      <Cell className="text-right font-semibold">
        <SignedMoney cents={row.amount} />
      </Cell>
      <Cell className="text-right text-muted">
        <Money cents={row.balance_after} />
      </Cell>
    </Row>
  )
}

function EntryCard({ row, mode }: EntryProps) {
  const t = useTranslations('statement')
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 border-line border-t px-4 py-3">
      <MovementLink row={row} mode={mode} />
      <span className="text-right">
        <span className="block font-semibold">
          <SignedMoney cents={row.amount} />
        </span>
        <span className="block text-muted text-small">
          <span className="sr-only">{t('column.balance')} </span>
          <Money cents={row.balance_after} />
        </span>
      </span>
      <span className="col-span-2 flex min-w-0 flex-wrap gap-x-2 pl-[35px] text-muted text-small">
        <ExactTime at={row.created_at} format="minute" />
        <span className={`font-mono text-[12.5px] leading-[21px] ${TWO_LINES}`}>
          {ownReference(row.charge_id, row.external_id)}
        </span>
      </span>
    </li>
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
