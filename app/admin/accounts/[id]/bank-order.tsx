'use client'

import { useTranslations } from 'next-intl'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { useRejectionText } from '#components/status/problem-text.ts'
import { Fact, Facts } from '#components/ui/details.tsx'
import type { BankOrder } from '#lib/operator/schema.ts'

/** A withdrawal or refund as its merchant sees it, with the bank's own words for staff. */
export function BankOrderFacts({ order }: { order: BankOrder }) {
  const t = useTranslations('adminAccount')
  const rejectionText = useRejectionText()
  const rejection = rejectionText(order)
  return (
    <Facts>
      <Fact name={t(`order.${order.kind}`)}>
        <span className="font-semibold">
          <Money cents={order.amount} />
        </span>
      </Fact>
      <Fact name={t('status')}>
        {t(`orderStatus.${order.status}`)} · {t(order.mode)}
      </Fact>
      <Fact name={t('created')}>
        <RelativeTime at={order.created_at} />
      </Fact>
      {rejection ? <Fact name={t('merchantSees')}>{rejection}</Fact> : null}
      {order.bank_text ? (
        <Fact name={t('bankText')}>
          <span className="break-words">{order.bank_text}</span>
        </Fact>
      ) : null}
      {order.end_to_end_id ? (
        <Fact name={t('endToEnd')}>
          <span className="break-all font-mono text-[13px]">{order.end_to_end_id}</span>
        </Fact>
      ) : null}
      {order.other_end_to_end_id ? (
        <Fact name={t('otherEndToEnd')}>
          <span className="break-all font-mono text-[13px]">{order.other_end_to_end_id}</span>
          <span className="block text-bad text-small">{t('otherEndToEndText')}</span>
        </Fact>
      ) : null}
    </Facts>
  )
}
