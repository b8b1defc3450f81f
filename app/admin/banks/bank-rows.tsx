'use client'

import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import {
  Balance,
  BankName,
  CertificateEnd,
  Cover,
  Latency,
  StateAndCheck,
} from '#app/admin/banks/bank-facts.tsx'
import { BankState } from '#app/admin/banks/bank-state.tsx'
import type { MoneyRead } from '#app/admin/banks/use-money.ts'
import { Cell, HeaderCell, Row, Table, WIDE_ONLY } from '#components/ui/table.tsx'
import type { BankLine } from '#lib/operator/banks/schema.ts'

interface RowsProps {
  banks: BankLine[]
  money: Map<string, MoneyRead>
}

export function BankTable({ banks, money }: RowsProps) {
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
              <Balance read={money.get(bank.id)} />
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

export function BankCards({ banks, money }: RowsProps) {
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
              <Balance read={money.get(bank.id)} />
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
