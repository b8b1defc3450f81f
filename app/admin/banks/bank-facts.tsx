'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { BankState } from '#app/admin/banks/bank-state.tsx'
import { coverOf, type MoneyRead } from '#app/admin/banks/notices.tsx'
import { Money, useDurations, useTimeText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Skeleton } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { BANK_NAMES } from '#lib/banks/states.ts'
import type { BankLine } from '#lib/operator/banks/schema.ts'

export function BankName({ bank }: { bank: BankLine }) {
  const t = useTranslations('banks')
  return (
    <>
      <Link
        href={`/admin/banks/${bank.id}`}
        prefetch={false}
        className={`block font-medium ${ROW_LINK}`}
      >
        <span className={TWO_LINES}>{bank.name}</span>
      </Link>
      <span className="block text-muted text-small">
        {BANK_NAMES[bank.kind]} · {t(`environment.${bank.environment}`)}
      </span>
    </>
  )
}

export function StateAndCheck({ bank }: { bank: BankLine }) {
  const t = useTranslations('banks')
  const [block] = bank.blocks
  return (
    <>
      <BankState bank={bank} />
      <span className="mt-0.5 block truncate text-muted text-small">
        {bank.state === 'blocked' && block ? (
          t(`block.${block.code}` as 'block.other')
        ) : bank.checked_at === null ? (
          t('neverChecked')
        ) : (
          <span className="relative z-10">
            <RelativeTime at={bank.checked_at} />
          </span>
        )}
      </span>
    </>
  )
}

export function CertificateEnd({ bank: { certificate_ends_at: at } }: { bank: BankLine }) {
  return at === null ? '—' : <CertificateDate at={at} />
}

export function CertificateDate({ at }: { at: string }) {
  const text = useTimeText()
  return (
    <time dateTime={at} className="whitespace-nowrap">
      {text(at, { dateStyle: 'medium' })}
    </time>
  )
}

export function Latency({ latency }: Pick<BankLine, 'latency'>) {
  const t = useTranslations('banks')
  const { callDuration } = useDurations()
  if (latency === null) return t('noCalls')
  return (
    <span title={t('latencyHint')}>
      <span className="block">{callDuration(latency.p50_ms)}</span>
      <span className="block">{t('latencyMost', { time: callDuration(latency.p95_ms) })}</span>
    </span>
  )
}

/** Balance at the bank and, below it, that of the books. */
export function BankBalance({ read }: { read: MoneyRead | undefined }) {
  const t = useTranslations('banks')
  if (read?.isPending) return <Skeleton className="ml-auto h-4 w-20 @max-table:ml-0" />
  if (!read?.money) return '—'
  const { bank, books } = read.money
  return (
    <>
      <span className="block font-semibold">{bank === null ? '—' : <Money cents={bank} />}</span>
      <span className="block text-muted text-small">
        {t('column.books')}{' '}
        <span className="inline-block">
          <Money cents={books} />
        </span>
      </span>
    </>
  )
}

export function Cover({ read }: { read: MoneyRead | undefined }) {
  const t = useTranslations('banks')
  if (read?.isPending) return <Skeleton className="ml-auto h-4 w-12 @max-table:ml-0" />
  const cover = read?.money ? coverOf(read.money) : null
  if (cover === null) return '—'
  return (
    <span
      title={t('coverHint')}
      data-testid="bank-cover"
      className={cover < 100 ? 'font-semibold text-bad' : ''}
    >
      {t('coverText', { percent: cover })}
    </span>
  )
}
