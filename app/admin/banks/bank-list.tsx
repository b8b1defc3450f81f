'use client'

import { CircleAlert, Landmark } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { BankCards, BankTable } from '#app/admin/banks/bank-rows.tsx'
import { CertificateNotices, ShortNotices } from '#app/admin/banks/notices.tsx'
import { coverOf, type MoneyRead, useBankMoney } from '#app/admin/banks/use-money.ts'
import { Money } from '#components/format/format.tsx'
import { buttonClass } from '#components/ui/button.tsx'
import { EmptyState, ListSheet, Sheet } from '#components/ui/sheet.tsx'
import type { BankLine } from '#lib/operator/banks/schema.ts'

/** Connections to banks; their balances follow once the banks have answered. */
export function BankList({ banks, owned }: { banks: BankLine[]; owned: number }) {
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
