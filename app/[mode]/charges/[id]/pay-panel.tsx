'use client'

import { Ban, Landmark, Timer } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { ShareButton } from '#app/[mode]/charges/[id]/live-facts.tsx'
import { clockText, moneyText, useSecondsTo } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import {
  type DecisionGroup,
  SimulatedBank,
  type SimulatedDecision,
} from '#components/sandbox/simulated-bank.tsx'
import { CHARGE_STATUS_STYLES } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { TONES } from '#components/ui/chip.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { type ShownChargeStatus, shownStatusOf } from '#lib/charges/states.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

interface PayPanelProps {
  merchant: string
  qr: ReactNode
}

export function PayPanel({ merchant, qr }: PayPanelProps) {
  const outcome = shownStatusOf(useLiveCharge().timeline.charge)
  const content = useRef<HTMLDivElement>(null)
  const [codeHeight, setCodeHeight] = useState<number>()
  useEffect(() => {
    if (outcome === 'pending') setCodeHeight(content.current?.offsetHeight)
  }, [outcome])
  return (
    <Sheet className="p-4 md:p-6">
      <div
        ref={content}
        // The outcome takes the height of the code that it replaces, so that nothing moves.
        style={outcome === 'pending' ? undefined : { minHeight: codeHeight }}
        className="grid grid-cols-[minmax(0,1fr)]"
      >
        {outcome === 'pending' ? (
          <div>
            <PaymentCode qr={qr} />
          </div>
        ) : (
          <ChargeOutcome outcome={outcome} merchant={merchant} />
        )}
      </div>
    </Sheet>
  )
}

function PaymentCode({ qr }: { qr: ReactNode }) {
  const t = useTranslations('charge')
  const { br_code, expires_at } = useLiveCharge().timeline.charge
  return (
    <>
      {qr}
      <div className="mt-3.5 flex items-center gap-2 rounded-control bg-sunk p-2.5 pl-3">
        <code
          data-testid="br-code"
          title={t('code')}
          className="min-w-0 flex-1 truncate font-mono text-[12.5px]"
        >
          {br_code}
        </code>
        <CopyButton text={br_code} variant="primary" className="min-w-[118px] shrink-0" />
      </div>
      <div className="mt-3.5 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <Countdown until={expires_at} />
        <p className="flex items-center gap-2 font-medium text-accent text-small">
          <span aria-hidden className="size-2 rounded-chip bg-accent" />
          {t('waiting')}
        </p>
      </div>
      <BankLink />
      <IfAllowed permission="charges:write">
        <CancelButton />
      </IfAllowed>
    </>
  )
}

type Outcome = Exclude<ShownChargeStatus, 'pending'>

const isUnpaid = (outcome: Outcome) =>
  outcome === 'expired' || outcome === 'cancelled' || outcome === 'failed'

const OUTCOME_TRANSITION =
  'transition-[opacity,scale] duration-200 starting:scale-95 starting:opacity-0 motion-reduce:transition-none'

const OUTCOME_TEXT = 'mt-1 w-full max-w-[36ch] text-balance break-words text-muted text-small'

function ChargeOutcome({ outcome, merchant }: { outcome: Outcome; merchant: string }) {
  const t = useTranslations('charge')
  const locale = useLocale()
  const { timeline, hasStatusChanged } = useLiveCharge()
  const { amount, client_name: name, refunded_amount: refunded } = timeline.charge
  const { returned_amount: returned = 0 } = timeline.charge
  const { disputed, lost, late, receipt_url } = timeline
  const amounts = [
    ['refunded', refunded] as const,
    ['returned', returned] as const,
    ['disputed', disputed] as const,
    ['lost', lost] as const,
    ['late', late] as const,
  ]
  const { icon: Icon, tone } = CHARGE_STATUS_STYLES[outcome]
  return (
    <div
      className={`flex flex-col items-center justify-center py-8 text-center ${hasStatusChanged ? OUTCOME_TRANSITION : ''}`}
    >
      <span className={`grid size-16 place-items-center rounded-chip ${TONES[tone]}`}>
        <Icon size={30} strokeWidth={2.2} aria-hidden />
      </span>
      <p className="mt-4 font-semibold text-title">{t(`${outcome}Title`)}</p>
      <p className={OUTCOME_TEXT}>
        {isUnpaid(outcome)
          ? t(`${outcome}Text`)
          : t(name ? 'paidText' : 'paidUnnamed', { amount: moneyText(amount, locale), name })}
      </p>
      {amounts.map(([name, cents]) =>
        cents > 0 ? (
          <p key={name} className={OUTCOME_TEXT}>
            {t(name, { amount: moneyText(cents, locale) })}
          </p>
        ) : null,
      )}
      {isUnpaid(outcome) ? <BankLink /> : null}
      {receipt_url ? (
        <div className="mt-5">
          <ShareButton merchant={merchant} />
        </div>
      ) : null}
    </div>
  )
}

/** Remaining time, updated every second; screen readers do not announce the updates. */
function Countdown({ until }: { until: string }) {
  const t = useTranslations('charge')
  const secondsLeft = Math.floor(useSecondsTo(until))
  return (
    <p className="flex min-h-6 items-center gap-2 text-muted text-small">
      <Timer size={16} aria-hidden className="shrink-0" />
      {secondsLeft < 0 ? (
        t('timeUp')
      ) : (
        <span role="timer" aria-live="off">
          {t('expiresIn')} <b className="font-semibold text-ink">{clockText(secondsLeft)}</b>
        </span>
      )}
    </p>
  )
}

const CancelDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/dialogs.tsx'),
  'CancelDialog',
)

/** When the charge ends meanwhile, the panel shows its outcome in place of the dialog. */
function CancelButton() {
  const t = useTranslations('cancel')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        variant="plain"
        onClick={() => setOpen(true)}
        className="mt-2 w-full justify-center text-small"
      >
        <Ban size={16} aria-hidden />
        {t('action')}
      </Button>
      {isOpen ? <CancelDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}

/** Buttons that make the simulated bank dispute or give back a paid charge. Test mode only. */
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
        send: (api, { amount }, idempotencyKey) =>
          api.post('/sandbox/transactions/[id]/disputes', {
            params: { id: charge.id },
            body: { amount },
            idempotencyKey,
          }),
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
  const decide =
    (outcome: 'completed' | 'rejected'): SimulatedDecision['send'] =>
    (api, { reason }, idempotencyKey) =>
      api.post('/sandbox/refunds/[id]', {
        params: { id },
        body: { outcome, reason },
        idempotencyKey,
      })
  return {
    id,
    title,
    decisions: [
      { name: 'complete', send: decide('completed'), event: 'transaction.refunded' },
      {
        name: 'refuse',
        send: decide('rejected'),
        event: 'transaction.refund_failed',
        asks: 'reason',
      },
    ],
  }
}

function groupOfDispute(id: string, title: string, amount: number): DecisionGroup {
  const decide =
    (outcome: 'won' | 'lost'): SimulatedDecision['send'] =>
    (api, { amount }, idempotencyKey) =>
      api.post('/sandbox/disputes/[id]', {
        params: { id },
        body: { outcome, amount },
        idempotencyKey,
      })
  const event = 'transaction.dispute_closed'
  return {
    id,
    title,
    decisions: [
      { name: 'win', send: decide('won'), event },
      { name: 'lose', send: decide('lost'), event, asks: { amountMax: amount } },
    ],
  }
}

/** Leads to the simulated bank, which can also pay a charge that has ended. */
function BankLink() {
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
