'use client'

import { CircleAlert, Landmark } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { BankState, CertificateDate, Latency } from '#app/admin/banks/bank-facts.tsx'
import {
  CertificateNotices,
  coverOf,
  type MoneyRead,
  ShortNotices,
  useBankMoney,
} from '#app/admin/banks/notices.tsx'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { type Column, DataList } from '#components/ui/data-list.tsx'
import { EmptyState, Sheet, Skeleton } from '#components/ui/sheet.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { BANK_NAMES } from '#lib/banks/states.ts'
import type { BankLine } from '#lib/operator/banks/schema.ts'

/** Connections to banks; their balances follow once the banks have answered. */
export function BankRows({ banks, owned }: { banks: BankLine[]; owned: number }) {
  const t = useTranslations('banks')
  const money = useBankMoney(banks)
  const columns: Column<BankLine>[] = [
    { head: t('column.name'), cell: bank => <BankName bank={bank} />, card: 'title' },
    {
      head: t('column.state'),
      width: '155px',
      cell: bank => <StateAndCheck bank={bank} />,
      card: 'aside',
    },
    {
      head: t('column.certificate'),
      width: '140px',
      cell: ({ certificate_ends_at: at }) => (at === null ? null : <CertificateDate at={at} />),
      card: 'fact',
    },
    {
      head: t('column.latency'),
      width: '175px',
      cell: ({ latency }) => <Latency latency={latency} />,
      look: 'muted',
      isWideOnly: true,
      card: 'fact',
    },
    {
      head: t('column.bank'),
      width: '185px',
      cell: ({ id }) => <BankBalance read={money.get(id)} />,
      look: 'right',
      card: 'fact',
    },
    {
      head: t('column.cover'),
      width: '106px',
      cell: ({ id }) => <Cover read={money.get(id)} />,
      look: 'right',
      card: 'fact',
    },
  ]
  if (banks.length === 0)
    return (
      <Sheet>
        <EmptyState icon={Landmark} title={t('none')} text={t('noneText')}>
          <Link href="/admin/banks/new" className={buttonClass('primary')}>
            {t('add')}
          </Link>
        </EmptyState>
      </Sheet>
    )
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Total banks={banks} owned={owned} money={money} />
      <ShortNotices banks={banks} money={money} />
      <CertificateNotices banks={banks} />
      <DataList label={t('title')} columns={columns} items={banks} keyOf={({ id }) => id} />
    </div>
  )
}

interface TotalProps {
  banks: BankLine[]
  owned: number
  money: Map<string, MoneyRead>
}

/** Money of all merchants in live mode, compared with the balances of all banks for production. */
function Total({ banks, owned, money }: TotalProps) {
  const t = useTranslations('banks')
  const asked = banks.filter(({ id, environment }) => environment === 'production' && money.has(id))
  const reads = asked.map(({ id }) => money.get(id))
  const known = reads.flatMap(read => (read?.money?.bank == null ? [] : [read.money.bank]))
  const isPending = reads.some(read => read?.isPending)
  const unknownCount = asked.length - known.length
  const held = known.length > 0 ? known.reduce((sum, each) => sum + each, 0) : null
  const cover = coverOf({ bank: held, owned })
  const isShort = cover !== null && cover < 100 && unknownCount === 0
  return (
    <Sheet className="px-4 py-4 md:px-6">
      <dl className="grid gap-x-6 gap-y-4 sm:grid-cols-3">
        <div>
          <dt className="text-muted text-small">{t('owned')}</dt>
          <dd className="font-semibold text-title" data-testid="banks-owned">
            <Money cents={owned} />
          </dd>
        </div>
        <div>
          <dt className="text-muted text-small">{t('held')}</dt>
          <dd className="font-semibold text-title" data-testid="banks-held">
            {held === null ? '—' : <Money cents={held} />}
            {isPending ? (
              <span className="block font-normal text-muted text-small">{t('asking')}</span>
            ) : unknownCount > 0 ? (
              <span className="block font-normal text-muted text-small">
                {t('partly', { count: unknownCount })}
              </span>
            ) : null}
          </dd>
        </div>
        <div>
          <dt className="text-muted text-small">{t('totalCover')}</dt>
          <dd
            data-testid="banks-cover"
            className={`flex items-center gap-1.5 font-semibold text-title ${isShort ? 'text-bad' : ''}`}
          >
            {isShort ? <CircleAlert size={18} aria-hidden /> : null}
            {cover === null ? '—' : t('coverText', { percent: cover })}
          </dd>
        </div>
      </dl>
    </Sheet>
  )
}

function BankName({ bank }: { bank: BankLine }) {
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

function StateAndCheck({ bank }: { bank: BankLine }) {
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

/** Balance at the bank and, below it, that of the books. */
function BankBalance({ read }: { read: MoneyRead | undefined }) {
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

function Cover({ read }: { read: MoneyRead | undefined }) {
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
