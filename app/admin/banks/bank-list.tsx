'use client'

import { CircleAlert, Landmark } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import {
  BankBalance,
  BankName,
  CertificateEnd,
  Cover,
  Latency,
  StateAndCheck,
} from '#app/admin/banks/bank-facts.tsx'
import { BankState } from '#app/admin/banks/bank-state.tsx'
import {
  CertificateNotices,
  coverOf,
  type MoneyRead,
  ShortNotices,
  useBankMoney,
} from '#app/admin/banks/notices.tsx'
import { Money } from '#components/format/format.tsx'
import { buttonClass } from '#components/ui/button-class.ts'
import { EmptyState, ListSheet, Sheet } from '#components/ui/sheet.tsx'
import { Cell, HeaderCell, Row, Table, WIDE_ONLY } from '#components/ui/table.tsx'
import type { BankLine } from '#lib/operator/banks/schema.ts'

/** Connections to banks; their balances follow once the banks have answered. */
export function BankRows({ banks, owned }: { banks: BankLine[]; owned: number }) {
  const t = useTranslations('banks')
  const money = useBankMoney(banks)
  if (banks.length === 0)
    return (
      <ListSheet>
        <EmptyState icon={Landmark} title={t('none')} text={t('noneText')}>
          <Link href="/admin/banks/new" className={buttonClass('primary')}>
            {t('add')}
          </Link>
        </EmptyState>
      </ListSheet>
    )
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <Total banks={banks} owned={owned} money={money} />
      <ShortNotices banks={banks} money={money} />
      <CertificateNotices banks={banks} />
      <ListSheet>
        <BankTable banks={banks} money={money} />
        <BankCards banks={banks} money={money} />
      </ListSheet>
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

interface RowsProps {
  banks: BankLine[]
  money: Map<string, MoneyRead>
}

function BankTable({ banks, money }: RowsProps) {
  const t = useTranslations('banks')
  return (
    <Table aria-label={t('title')}>
      <thead>
        <tr>
          <HeaderCell>{t('column.name')}</HeaderCell>
          <HeaderCell width="155px">{t('column.state')}</HeaderCell>
          <HeaderCell width="140px">{t('column.certificate')}</HeaderCell>
          <HeaderCell width="175px" isWideOnly>
            {t('column.latency')}
          </HeaderCell>
          <HeaderCell width="185px" side="right">
            {t('column.bank')}
          </HeaderCell>
          <HeaderCell width="106px" side="right">
            {t('column.cover')}
          </HeaderCell>
        </tr>
      </thead>
      <tbody>
        {banks.map(bank => (
          <Row key={bank.id} data-testid="bank-row">
            <Cell>
              <BankName bank={bank} />
            </Cell>
            <Cell>
              <StateAndCheck bank={bank} />
            </Cell>
            <Cell className="text-small">
              <CertificateEnd bank={bank} />
            </Cell>
            <Cell className={`text-muted text-small ${WIDE_ONLY}`}>
              <Latency latency={bank.latency} />
            </Cell>
            <Cell className="text-right">
              <BankBalance read={money.get(bank.id)} />
            </Cell>
            <Cell className="text-right">
              <Cover read={money.get(bank.id)} />
            </Cell>
          </Row>
        ))}
      </tbody>
    </Table>
  )
}

function BankCards({ banks, money }: RowsProps) {
  const t = useTranslations('banks')
  return (
    <ul className="@table:hidden">
      {banks.map(bank => (
        <li
          key={bank.id}
          className="relative grid grid-cols-[minmax(0,1fr)] gap-2.5 border-line px-4 py-3.5 not-first:border-t"
        >
          <div className="flex items-start justify-between gap-3">
            <div className="min-w-0">
              <BankName bank={bank} />
            </div>
            <div className="shrink-0">
              <BankState bank={bank} />
            </div>
          </div>
          <dl className="grid grid-cols-2 gap-x-4 gap-y-1.5 text-small">
            <CardFact name={t('column.bank')}>
              <BankBalance read={money.get(bank.id)} />
            </CardFact>
            <CardFact name={t('column.cover')}>
              <Cover read={money.get(bank.id)} />
            </CardFact>
            <CardFact name={t('column.certificate')}>
              <CertificateEnd bank={bank} />
            </CardFact>
            <CardFact name={t('column.latency')}>
              <Latency latency={bank.latency} />
            </CardFact>
          </dl>
        </li>
      ))}
    </ul>
  )
}

function CardFact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
