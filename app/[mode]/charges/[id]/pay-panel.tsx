'use client'

import { Timer } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { CancelButton } from '#app/[mode]/charges/[id]/cancel-button.tsx'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { BankLink } from '#app/[mode]/charges/[id]/sandbox.tsx'
import { ShareButton } from '#app/[mode]/charges/[id]/share-button.tsx'
import { clockText, useSecondsTo } from '#components/format/duration.ts'
import { moneyText } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { CHARGE_STATUS_STYLES } from '#components/status/state-chips.tsx'
import { TONES } from '#components/ui/chip.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { type ShownChargeStatus, shownStatusOf } from '#lib/charges/states.ts'

interface PayPanelProps {
  merchant: string
  qr: ReactNode
}

export function PayPanel({ merchant, qr }: PayPanelProps) {
  const outcome = shownStatusOf(useLiveCharge().timeline.charge)
  return (
    <Sheet className="p-4 md:p-6">
      {outcome === 'pending' ? (
        <PaymentCode qr={qr} />
      ) : (
        <ChargeOutcome outcome={outcome} merchant={merchant} />
      )}
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

/** Fades in at the size of the replaced QR code, so that the layout does not shift. */
const OUTCOME_TRANSITION =
  'aspect-square transition-[opacity,scale] duration-200 starting:scale-95 starting:opacity-0 motion-reduce:transition-none'

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
          : t('paidText', { amount: moneyText(amount, locale), name })}
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
