'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { moneyText } from '#components/format/format.tsx'
import { type DecisionGroup, SimulatedBank } from '#components/sandbox/simulated-bank.tsx'
import type { ChargeTimelineData } from '#lib/views/dashboard/schema.ts'

/** What the simulated bank can decide about a paid charge. An unpaid one is paid on the bank's own page. */
export function SimulateCharge() {
  const t = useTranslations('simulate')
  const locale = useLocale()
  const { timeline, refresh } = useLiveCharge()
  const title = (name: 'refund' | 'dispute' | 'payment', cents: number) =>
    t(name, { amount: moneyText(cents, locale) })
  return (
    <SimulatedBank text={t('charge')} groups={listGroups(timeline, title)} onDecided={refresh} />
  )
}

function listGroups(
  { charge, refunds, disputes, disputed, lost }: ChargeTimelineData,
  title: (name: 'refund' | 'dispute' | 'payment', cents: number) => string,
): DecisionGroup[] {
  const disputable = charge.amount - charge.refunded_amount - disputed - lost
  const payment: DecisionGroup = {
    id: charge.id,
    title: title('payment', charge.amount),
    decisions: [
      {
        name: 'dispute',
        path: `/sandbox/transactions/${charge.id}/disputes`,
        event: 'transaction.dispute_opened',
        asks: { amountMax: disputable },
      },
    ],
  }
  return [
    ...refunds
      .filter(({ status }) => status === 'pending')
      .map(({ id, amount }) => groupOfRefund(id, title('refund', amount))),
    ...disputes
      .filter(({ status }) => status === 'open')
      .map(({ id, amount }) => groupOfDispute(id, title('dispute', amount), amount)),
    ...(charge.status === 'paid' && disputable > 0 ? [payment] : []),
  ]
}

function groupOfRefund(id: string, title: string): DecisionGroup {
  const path = `/sandbox/refunds/${id}`
  return {
    id,
    title,
    decisions: [
      { name: 'complete', path, outcome: 'completed', event: 'transaction.refunded' },
      {
        name: 'refuse',
        ...{ path, outcome: 'rejected', event: 'transaction.refund_failed', asks: 'reason' },
      },
    ],
  }
}

function groupOfDispute(id: string, title: string, amount: number): DecisionGroup {
  const path = `/sandbox/disputes/${id}`
  const event = 'transaction.dispute_closed'
  return {
    id,
    title,
    decisions: [
      { name: 'win', path, outcome: 'won', event },
      { name: 'lose', path, outcome: 'lost', event, asks: { amountMax: amount } },
    ],
  }
}
