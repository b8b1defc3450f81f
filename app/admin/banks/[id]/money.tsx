'use client'

import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { ShortNotices } from '#app/admin/banks/notices.tsx'
import { coverOf, useBankMoney } from '#app/admin/banks/use-money.ts'
import { Money } from '#components/format/format.tsx'
import { Section, Skeleton } from '#components/ui/sheet.tsx'
import type { BankDetail, BankMoney } from '#lib/operator/banks/schema.ts'

/** The balance of now, term by term, and whether it covers what merchants own. */
export function MoneySection({ bank }: { bank: BankDetail }) {
  const t = useTranslations('banks')
  const money = useBankMoney([bank])
  const read = money.get(bank.id)
  return (
    <Section title={t('money.title')} text={t('money.text')}>
      {read?.money ? (
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
          <ShortNotices banks={[bank]} money={money} />
          <Terms money={read.money} />
        </div>
      ) : read?.isPending ? (
        <Skeleton className="h-40 w-full" />
      ) : (
        <p className="text-muted">{t('money.failed')}</p>
      )}
      <Link
        href={`/admin/reconciliation?connection=${bank.id}`}
        prefetch={false}
        className="mt-4 inline-block font-semibold text-accent hover:underline"
      >
        {t('money.differences')}
      </Link>
    </Section>
  )
}

const TERMS = [
  ...(['opening', 'books', 'payouts', 'refunds', 'payments', 'fees', 'others'] as const),
] as const

function Terms({ money }: { money: BankMoney }) {
  const t = useTranslations('banks')
  const cover = coverOf(money)
  return (
    <dl>
      {TERMS.map(name => (
        <Line key={name} name={t(`money.term.${name}`)}>
          <Money cents={money.terms[name] ?? 0} />
        </Line>
      ))}
      <Line name={t('money.expected')} isSum>
        <Money cents={money.expected} />
      </Line>
      <Line name={t('money.bank')} isSum>
        {money.bank === null ? t('unknown') : <Money cents={money.bank} />}
      </Line>
      {money.rest === null ? null : (
        <Line name={t('money.rest')} isBad={money.rest !== 0}>
          <Money cents={money.rest} />
        </Line>
      )}
      <Line name={t('money.owned')} isSum>
        <Money cents={money.owned} />
      </Line>
      <Line name={t('money.cover')} isBad={cover !== null && cover < 100}>
        {cover === null ? '—' : t('coverText', { percent: cover })}
      </Line>
    </dl>
  )
}

interface LineProps {
  name: string
  isSum?: boolean
  isBad?: boolean
  children: ReactNode
}

function Line({ name, isSum, isBad, children }: LineProps) {
  return (
    <div
      className={`flex justify-between gap-4 py-1 ${isSum ? 'border-line border-t pt-2 font-semibold' : ''} ${isBad ? 'text-bad' : ''}`}
    >
      <dt className={isSum || isBad ? '' : 'text-muted'}>{name}</dt>
      <dd className="shrink-0 text-right tabular-nums">{children}</dd>
    </div>
  )
}
