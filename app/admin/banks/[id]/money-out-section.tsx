'use client'

import { Lock } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { DATED_FORMAT, ExactTime, useTimeText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Notice, Section } from '#components/ui/sheet.tsx'
import type { BankDetail } from '#lib/operator/banks/schema.ts'

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
