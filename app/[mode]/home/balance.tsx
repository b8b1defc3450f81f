import { ArrowUpRight, Check, CircleAlert, Plus, ScrollText } from 'lucide-react'
import Link from 'next/link'
import { useFormatter, useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import {
  DATED_FORMAT,
  HeroMoney,
  Money,
  moneyText,
  useTimeText,
} from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { Chip } from '#components/ui/chip.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import type { Mode } from '#lib/core/mode.ts'
import type { Home } from '#lib/dashboard/schema.ts'

interface BalanceProps extends Pick<Home, 'balance' | 'books'> {
  mode: Mode
}

export function Balance({ balance, books, mode }: BalanceProps) {
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

export function LedgerWarning({ books }: Pick<Home, 'books'>) {
  const t = useTranslations('books')
  if (!books || books.is_right) return null
  return (
    <div className="mb-6 md:mb-8">
      <Notice tone="bad" icon={CircleAlert} role="alert">
        {t.rich('wrongHelp', { code: words => <code className="font-mono">{words}</code> })}
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

export function Hint({ text, side = 'start', isPlain = false, children }: HintProps) {
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
