'use client'

import { useTranslations } from 'next-intl'
import { type ReactNode, useRef, useState } from 'react'
import { Problem } from '#components/form/problem.tsx'
import { HeroMoney, RelativeTime } from '#components/format/format.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { ChargeState } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import type { BankReading } from '#lib/dashboard/schema.ts'

export type Outcome = 'paid' | 'failed' | 'expired'
export type PayableReading = Extract<BankReading, { problem: null }>

interface ConfirmPaymentProps extends PayableReading {
  decide: (id: string, outcome: Outcome, idempotencyKey: string) => Promise<void>
  restart: () => void
}

export function ConfirmPayment({ receiver, city, charge, decide, restart }: ConfirmPaymentProps) {
  const t = useTranslations('bank')
  const idempotencyKeys = useRef<Partial<Record<Outcome, string>>>({})
  const [busy, setBusy] = useState<Outcome | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const { id, amount, status, external_id, expires_at } = charge

  async function choose(outcome: Outcome) {
    if (busy) return
    setBusy(outcome)
    setFailure(null)
    idempotencyKeys.current[outcome] ??= crypto.randomUUID()
    await decide(id, outcome, idempotencyKeys.current[outcome]).catch(setFailure)
    setBusy(null)
  }

  return (
    <>
      <h2 className="text-center text-muted text-small">{t('youPay')}</h2>
      <p className="my-2 text-center text-[42px] md:text-[50px]">
        <HeroMoney cents={amount} testId="bank-amount" />
      </p>
      <p className="break-words text-center">
        {t('to')} <strong className="font-semibold">{receiver}</strong>
      </p>
      <dl className="my-6 grid gap-3 border-line border-y py-5">
        <DetailRow name={t('city')}>{city}</DetailRow>
        <DetailRow name={t('reference')}>
          <span className="break-all font-mono text-[13px]">{external_id}</span>
        </DetailRow>
        {status === 'pending' ? (
          <DetailRow name={t('expires')}>
            <RelativeTime at={expires_at} side="end" />
          </DetailRow>
        ) : null}
        <DetailRow name={t('status')}>
          <ChargeState status={status} />
        </DetailRow>
      </dl>
      <IfAllowed permission="transactions:write">
        <div className="grid gap-3">
          <Problem error={failure} />
          {status === 'paid' ? (
            <p className="text-center text-muted text-small">{t('alreadyPaid')}</p>
          ) : (
            <Button variant="primary" className="min-h-12" onClick={() => choose('paid')}>
              {busy === 'paid' ? t('paying') : status === 'pending' ? t('pay') : t('payLate')}
            </Button>
          )}
          {status === 'pending' ? (
            <div className="grid gap-3 sm:grid-cols-2">
              <Button variant="quiet" onClick={() => choose('failed')}>
                {t('fail')}
              </Button>
              <Button variant="quiet" onClick={() => choose('expired')}>
                {t('expire')}
              </Button>
            </div>
          ) : null}
          {status === 'expired' || status === 'failed' ? (
            <p className="text-muted text-small">{t('lateHint')}</p>
          ) : null}
          <Button variant="plain" className="justify-center" onClick={restart}>
            {t('another')}
          </Button>
        </div>
      </IfAllowed>
    </>
  )
}

function DetailRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex justify-between gap-6">
      <dt className="shrink-0 text-muted">{name}</dt>
      <dd className="min-w-0 text-right">{children}</dd>
    </div>
  )
}
