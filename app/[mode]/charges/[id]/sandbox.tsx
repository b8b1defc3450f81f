'use client'

import { Landmark } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { moneyText } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { type DecisionGroup, SimulatedBank } from '#components/sandbox/simulated-bank.tsx'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

/** What the simulated bank can decide about a paid charge in test mode. */
export function ChargeSandbox() {
  const t = useTranslations('simulate')
  const locale = useLocale()
  const { timeline, refresh } = useLiveCharge()
  const { mode, status, client_email } = timeline.charge
  if (mode !== 'test' || status !== 'paid') return null
  const title = (name: 'refund' | 'dispute' | 'payment', cents: number) =>
    t(name, { amount: moneyText(cents, locale) })
  return (
    <IfAllowed permission="transactions:write">
      <SimulatedBank
        hint={client_email.startsWith('hold@') ? null : t('chargeHint')}
        groups={listGroups(timeline, title)}
        onDecided={refresh}
      />
    </IfAllowed>
  )
}

function listGroups(
  { charge, refunds, disputes, disputed, lost }: ChargeTimelineData,
  title: (name: 'refund' | 'dispute' | 'payment', cents: number) => string,
): DecisionGroup[] {
  const disputable =
    charge.amount - charge.refunded_amount - (charge.returned_amount ?? 0) - disputed - lost
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
    ...(disputable > 0 ? [payment] : []),
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
        path,
        outcome: 'rejected',
        event: 'transaction.refund_failed',
        asks: 'reason',
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

/** Leads to the simulated bank, which can also pay a charge that has ended. */
export function BankLink() {
  const t = useTranslations('charge')
  const { mode, id } = useLiveCharge().timeline.charge
  if (mode !== 'test') return null
  return (
    <Link
      href={`/test/bank?charge=${id}`}
      prefetch={false}
      className="mt-3.5 flex min-h-10 w-full items-center justify-center gap-2 rounded-control border border-line2 border-dashed font-medium text-small text-test hover:bg-sunk"
    >
      <Landmark size={16} aria-hidden />
      {t('bank')}
    </Link>
  )
}
