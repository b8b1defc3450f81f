'use client'

import { useSuspenseQuery } from '@tanstack/react-query'
import { ArrowUpRight, Check, CircleAlert, Plus, QrCode, ScrollText, Webhook } from 'lucide-react'
import Link from 'next/link'
import { useFormatter, useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { ChartCard } from '#app/[mode]/home/chart-card.tsx'
import type { QueryOf } from '#components/api/routes.ts'
import { useApi } from '#components/api/use-api.ts'
import {
  DATED_FORMAT,
  HeroMoney,
  Money,
  moneyText,
  useDurations,
  useTimeText,
} from '#components/format/format.tsx'
import { IfAllowed, useHasPermission } from '#components/nav/permissions.tsx'
import { accountQueries } from '#components/queries/account.ts'
import { ChargeRows } from '#components/status/payment-rows.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { Chip } from '#components/ui/chip.tsx'
import { EmptyState, Notice, Sheet } from '#components/ui/sheet.tsx'
import type { ListedCharge } from '#lib/charges/schema.ts'
import { numberFormat } from '#lib/core/locale.ts'
import type { Mode } from '#lib/core/mode.ts'
import type { Home } from '#lib/dashboard/schema.ts'

interface LiveHomeProps {
  /** API query parameters that select the days of the chart. */
  query: QueryOf<'/dashboard/home'>
  children: ReactNode
}

export function LiveHome({ query, children }: LiveHomeProps) {
  const api = useApi()
  const { mode } = api.scope
  const { data: home } = useSuspenseQuery(accountQueries.home(api, query))
  return (
    <>
      <LedgerWarning books={home.books} />
      <div className="flex flex-col gap-6 lg:grid lg:grid-cols-[minmax(0,5fr)_minmax(0,4fr)] lg:gap-x-0 lg:gap-y-8">
        <div
          aria-hidden
          className="col-span-2 col-start-1 row-start-1 hidden rounded-sheet border border-line bg-surface shadow-sheet lg:block"
        />
        <div className="col-start-1 row-start-1">
          <Balance balance={home.balance} books={home.books} mode={mode} />
        </div>
        <div className="col-start-2 row-start-1 max-lg:order-last">
          <ReceivedPayments home={home} mode={mode} />
        </div>
        <div className="col-span-2 empty:hidden">{children}</div>
        <div className="col-span-2">
          <ChartCard days={home.days} />
        </div>
        <div className="col-span-2">
          <LatestCharges charges={home.charges} mode={mode} />
        </div>
      </div>
    </>
  )
}

interface LatestChargesProps {
  charges: ListedCharge[]
  mode: Mode
}

function LatestCharges({ charges, mode }: LatestChargesProps) {
  const t = useTranslations('home')
  return (
    <section>
      <div className="mb-2.5 flex items-center justify-between gap-4">
        <h2 className="text-title">{t('recent')}</h2>
        <Link
          href={`/${mode}/charges`}
          prefetch={false}
          className="inline-flex min-h-6 items-center font-semibold text-accent text-small hover:underline"
        >
          {t('all')}
        </Link>
      </div>
      {charges.length === 0 ? (
        <Sheet>
          <NoCharges mode={mode} />
        </Sheet>
      ) : (
        <ChargeRows label={t('recent')} createdLabel={t('created')} charges={charges} />
      )}
    </section>
  )
}

function NoCharges({ mode }: { mode: Mode }) {
  const t = useTranslations('home')
  const canCreate = useHasPermission()('transactions:write')
  return (
    <EmptyState icon={QrCode} title={t('none')} text={canCreate && t('noneHow')}>
      {canCreate ? (
        <Link href={`/${mode}/charges/new`} prefetch={false} className={buttonClass('quiet')}>
          <Plus size={17} aria-hidden />
          {t('newCharge')}
        </Link>
      ) : null}
    </EmptyState>
  )
}

type ReceivedField = 'received' | 'conversion' | 'median_seconds' | 'webhooks'

function ReceivedPayments({ home, mode }: { home: Pick<Home, ReceivedField>; mode: Mode }) {
  const t = useTranslations('home')
  const { duration } = useDurations()
  const { today, week, month } = home.received
  const count = numberFormat(useLocale()).format(month.count)
  return (
    <section
      aria-label={t('numbers')}
      className="max-lg:rounded-sheet max-lg:border max-lg:border-line max-lg:bg-surface max-lg:p-4 max-lg:shadow-sheet lg:border-line lg:border-l lg:px-7 lg:py-7"
    >
      <p className="text-muted text-small">
        <Hint text={t('todayHint')}>{t('today')}</Hint>
      </p>
      <p className="mt-2 text-[28px] leading-none">
        <HeroMoney cents={today.amount} testId="received-today" />
      </p>
      <p className="mt-2.5 text-muted text-small">
        {t.rich('weekAndMonth', {
          week: () => <Money cents={week.amount} />,
          month: () => <Money cents={month.amount} />,
        })}
      </p>
      <dl className="mt-4 flex flex-wrap gap-x-6 gap-y-2">
        <Figure name={t('paid')} hint={t('paidHint')}>
          {count}
        </Figure>
        <Figure name={t('conversion')} hint={t('conversionHint')}>
          <Percentage ratio={home.conversion} digits={0} />
        </Figure>
        <Figure name={t('time')} hint={t('timeHint')} side="end">
          {home.median_seconds === null ? '—' : duration(home.median_seconds)}
        </Figure>
      </dl>
      <p className="mt-3.5">
        <Link
          href={`/${mode}/webhooks`}
          prefetch={false}
          className="inline-flex min-h-6 items-center gap-2 text-muted text-small hover:text-ink hover:underline"
        >
          <Webhook size={17} strokeWidth={1.8} aria-hidden className="shrink-0" />
          <DeliveryRate webhooks={home.webhooks} />
        </Link>
      </p>
    </section>
  )
}

interface FigureProps {
  name: string
  hint: string
  side?: 'start' | 'end'
  children: ReactNode
}

function Figure({ name, hint, side, children }: FigureProps) {
  return (
    <div>
      <dt className="text-muted text-small">
        <Hint text={hint} side={side}>
          {name}
        </Hint>
      </dt>
      <dd className="font-semibold text-[17px] leading-tight">{children}</dd>
    </div>
  )
}

function DeliveryRate({ webhooks }: Pick<Home, 'webhooks'>) {
  const t = useTranslations('home')
  const locale = useLocale()
  if (!webhooks) return t('webhooksNone')
  const share = percentText(webhooks.delivered, locale, 1)
  if (webhooks.mean_ms === null) return t('webhooksNoMean', { share })
  const mean = numberFormat(locale).format(webhooks.mean_ms)
  return t('webhooks', { share, mean })
}

function Percentage({ ratio, digits }: { ratio: number | null; digits: number }) {
  const locale = useLocale()
  return ratio === null ? '—' : percentText(ratio, locale, digits)
}

/** Truncates instead of rounding: 100 % must mean no exception. */
function percentText(ratio: number, locale: string, digits: number): string {
  const truncated = Math.floor(ratio * 100 * 10 ** digits + 1e-9) / 10 ** digits / 100
  const options = { style: 'percent', maximumFractionDigits: digits } as const
  return numberFormat(locale, options).format(truncated)
}

interface BalanceProps extends Pick<Home, 'balance' | 'books'> {
  mode: Mode
}

function Balance({ balance, books, mode }: BalanceProps) {
  const t = useTranslations('balance')
  const basePath = `/${mode}`
  return (
    <section aria-label={t('title')} className="lg:px-7 lg:py-7">
      <p className="flex min-h-6 flex-wrap items-center gap-x-2 gap-y-1 text-muted text-small max-lg:pr-14">
        {t('available')} <LedgerCheck books={books} />
      </p>
      <p className="mt-2.5 text-[42px] leading-none lg:text-[50px]">
        <HeroMoney cents={balance.available} testId="balance" />
      </p>
      <BalanceAnnouncement available={balance.available} />
      <div className="mt-2.5 grid gap-1.5 text-muted text-small">
        <HeldAmount {...balance} />
        <WaitingWithdrawals {...balance} mode={mode} />
        <DisputedAmounts {...balance.disputes} mode={mode} />
      </div>
      <div className="mt-4 grid grid-cols-2 gap-2.5 lg:mt-6 lg:flex">
        <IfAllowed permission="transactions:write">
          <Link
            href={`${basePath}/charges/new`}
            prefetch={false}
            className={`${buttonClass('primary')} max-lg:min-h-12 lg:hidden`}
          >
            <Plus size={18} aria-hidden />
            {t('charge')}
          </Link>
        </IfAllowed>
        <IfAllowed permission="withdrawals:write">
          <Link
            href={`${basePath}/withdrawals/new`}
            prefetch={false}
            className={`${buttonClass('quiet')} max-lg:min-h-12`}
          >
            <ArrowUpRight size={17} aria-hidden />
            {t('withdraw')}
          </Link>
        </IfAllowed>
        <Link
          href={`${basePath}/statement`}
          prefetch={false}
          className={`${buttonClass('quiet')} max-lg:hidden`}
        >
          <ScrollText size={17} aria-hidden />
          {t('statement')}
        </Link>
      </div>
    </section>
  )
}

function HeldAmount({ outbound, held, disputes }: Home['balance']) {
  const t = useTranslations('balance')
  const format = useFormatter()
  if (outbound === 0) return disputes.disputed > 0 ? null : <p>{t('nothingHeld')}</p>
  const amount = () => <Money cents={outbound} />
  if (!held) return <p>{t.rich('plusHeld', { amount })}</p>
  const orders = [
    held.withdrawals > 0 ? t('withdrawals', { count: held.withdrawals }) : '',
    held.refunds > 0 ? t('refunds', { count: held.refunds }) : '',
  ].filter(Boolean)
  return <p>{t.rich('plusHeldIn', { amount, orders: format.list(orders) })}</p>
}

/** Without `held`, some orders are too old to be counted. */
function WaitingWithdrawals({ waiting, held, mode }: Home['balance'] & { mode: Mode }) {
  const t = useTranslations('balance')
  const { count, amount } = waiting
  if (count === 0) return null
  const parts = {
    count,
    isAll: String(held !== null),
    amount: () => <Money cents={amount} />,
    link: (chunks: ReactNode) => (
      <Link
        href={`/${mode}/withdrawals?status=pending`}
        prefetch={false}
        className="font-semibold underline"
      >
        {chunks}
      </Link>
    ),
  }
  return <p className="text-ink">{t.rich('waiting', parts)}</p>
}

type DisputedAmountsProps = Home['balance']['disputes'] & { mode: Mode }

function DisputedAmounts({ disputed, held, claim, mode }: DisputedAmountsProps) {
  const t = useTranslations('balance')
  const amounts = {
    amount: () => <Money cents={disputed} />,
    missing: () => <Money cents={disputed - held} />,
    link: (chunks: ReactNode) => (
      <Link href={`/${mode}/disputes`} prefetch={false} className="font-semibold underline">
        {chunks}
      </Link>
    ),
  }
  return (
    <>
      {disputed > 0 ? (
        <p>{t.rich(held < disputed ? 'disputedMissing' : 'disputed', amounts)}</p>
      ) : null}
      {claim > 0 ? (
        <p className="text-ink">{t.rich('claim', { amount: () => <Money cents={claim} /> })}</p>
      ) : null}
    </>
  )
}

/** Minimum interval between announcements: the balance of a busy merchant changes constantly. */
const ANNOUNCE_INTERVAL_MIN_MS = 30_000

function BalanceAnnouncement({ available }: { available: number }) {
  const t = useTranslations('balance')
  const locale = useLocale()
  const announced = useRef(available)
  const announcedAt = useRef(0)
  const [text, setText] = useState('')
  useEffect(() => {
    if (announced.current === available) return
    const announce = () => {
      announced.current = available
      announcedAt.current = Date.now()
      setText(t('said', { amount: moneyText(available, locale) }))
    }
    const timer = setTimeout(
      announce,
      Math.max(0, announcedAt.current + ANNOUNCE_INTERVAL_MIN_MS - Date.now()),
    )
    return () => clearTimeout(timer)
  }, [available, locale, t])
  return (
    <span role="status" className="sr-only">
      {text}
    </span>
  )
}

/** Result of the last ledger check; the first runs a minute after the account is created. */
function LedgerCheck({ books }: Pick<Home, 'books'>) {
  const t = useTranslations('books')
  const text = useTimeText()
  if (!books) return null
  const time = text(books.checked_at, DATED_FORMAT)
  return books.is_right ? (
    <Hint isPlain text={t('rightWhen', { time })}>
      <Chip tone="ok" icon={Check}>
        {t('right')}
      </Chip>
    </Hint>
  ) : (
    <Hint isPlain text={t('wrongWhen', { time })}>
      <Chip tone="bad" icon={CircleAlert}>
        {t('wrong')}
      </Chip>
    </Hint>
  )
}

function LedgerWarning({ books }: Pick<Home, 'books'>) {
  const t = useTranslations('books')
  if (!books || books.is_right) return null
  return (
    <div className="mb-6 md:mb-8">
      <Notice tone="bad" icon={CircleAlert} role="alert">
        {t('wrongHelp')}
      </Notice>
    </div>
  )
}

const SIDES = { start: 'left-0', end: 'right-0' }

interface HintProps {
  text: ReactNode
  side?: keyof typeof SIDES
  /** Omits the dotted underline, for content that already looks interactive, such as a chip. */
  isPlain?: boolean
  children: ReactNode
}

function Hint({ text, side = 'start', isPlain = false, children }: HintProps) {
  const id = useId()
  const underlineClass = isPlain
    ? ''
    : 'underline decoration-line2 decoration-dotted decoration-1 underline-offset-4'
  return (
    <span className="group relative inline-block">
      <span
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the explanation opens on keyboard focus
        tabIndex={0}
        aria-describedby={id}
        className={`inline-flex min-h-6 cursor-help items-center rounded-[4px] ${underlineClass}`}
      >
        {children}
      </span>
      <span
        role="tooltip"
        id={id}
        className={`pointer-events-none absolute bottom-full z-20 mb-1.5 hidden w-max max-w-[min(280px,72vw)] rounded-control bg-ink px-3 py-2 font-normal text-paper text-small group-focus-within:block group-hover:block ${SIDES[side]}`}
      >
        {text}
      </span>
    </span>
  )
}
