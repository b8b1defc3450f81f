'use client'

import { Lock } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { coverOf, ShortNotices, useBankMoney } from '#app/admin/banks/notices.tsx'
import { DATED_FORMAT, ExactTime, Money, useTimeText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Notice, Section, Skeleton } from '#components/ui/sheet.tsx'
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

const TERMS = ['opening', 'books', 'payouts', 'refunds', 'payments', 'fees', 'others'] as const

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

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

const LISTS = ['payments', 'refunds', 'payouts'] as const

interface MoneyOutProps {
  bank: Pick<BankDetail, 'id' | 'name'>
  closure: NonNullable<BankDetail['closure']>
}

/** How far the bank was read after a restore, and how two admins open money out of a bank without lists. */
export function MoneyOutSection({ bank, closure }: MoneyOutProps) {
  const t = useTranslations('banks')
  const timeText = useTimeText()
  const [isOpen, setOpen] = useState(false)
  const { restored_to: restoredTo, until, unsettled, held, is_unlisted, proposal } = closure
  const time = timeText(restoredTo, DATED_FORMAT)
  return (
    <Section title={t('moneyOut.title')} text={t('moneyOut.text', { time })}>
      <div className="mb-4 grid gap-4">
        <Facts>
          {LISTS.map(list => (
            <Fact key={list} name={t(`moneyOut.${list}`)}>
              <ReadUntil at={until[list]} />
            </Fact>
          ))}
        </Facts>
        {unsettled > 0 ? <p>{t('moneyOut.unsettled', { count: unsettled })}</p> : null}
        {held > 0 ? <p>{t('moneyOut.held', { count: held })}</p> : null}
        {is_unlisted ? <p>{t('moneyOut.unlisted')}</p> : null}
        {proposal ? (
          <Notice tone="wait" icon={Lock}>
            {t('moneyOut.proposed', {
              by: proposal.by ?? t('moneyOut.someone'),
              reason: proposal.reason,
            })}
          </Notice>
        ) : null}
      </div>
      <Button variant="quiet" onClick={() => setOpen(true)} className="text-bad!">
        {proposal ? t('moneyOut.confirm') : t('moneyOut.propose')}
      </Button>
      {isOpen ? (
        <ReasonDialog
          title={t('moneyOut.dialogTitle', { name: bank.name })}
          description={proposal ? t('moneyOut.confirmText') : t('moneyOut.dialogText')}
          action={proposal ? t('moneyOut.confirm') : t('moneyOut.propose')}
          reasonHint={t('moneyOut.hint')}
          path={`/admin/banks/${bank.id}/money-out`}
          fields={proposal ? { proposal_id: proposal.id } : {}}
          isDestructive
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Section>
  )
}

function ReadUntil({ at }: { at: string | null }) {
  const t = useTranslations('banks')
  return at === null ? (
    <span className="text-muted">{t('moneyOut.none')}</span>
  ) : (
    <ExactTime at={at} format="dated" />
  )
}
