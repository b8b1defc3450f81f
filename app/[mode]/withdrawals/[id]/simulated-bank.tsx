'use client'

import { Check, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { Problem } from '#components/form/problem.tsx'
import { useApi } from '#components/nav/api-provider.tsx'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'

interface SimulatedBankProps {
  withdrawal: WithdrawalRow
  onDecided: () => Promise<unknown>
}

/** The simulated bank never decides a withdrawal to a hold@ key: the user decides it here. */
export function SimulatedBank({ withdrawal, onDecided }: SimulatedBankProps) {
  const t = useTranslations('withdrawal')
  const api = useApi()
  const decision = useAction((outcome: 'approved' | 'rejected') => {
    const path = `/sandbox/withdrawals/${withdrawal.id}`
    return api.send('POST', path, { body: { outcome } })
  }, onDecided)
  if (withdrawal.status !== 'pending' && !decision.failure) return null
  return (
    <Sheet className="border-test! px-4 py-5 md:px-7 md:py-6">
      <section aria-labelledby="bank">
        <h2 id="bank" className="text-title">
          {t('bank')}
        </h2>
        <p className="mt-1 mb-4 text-muted text-small">{t('bankText')}</p>
        <div className="flex flex-wrap gap-3">
          <Button
            variant="quiet"
            disabled={decision.isBusy}
            onClick={() => decision.run('approved')}
          >
            <Check size={16} aria-hidden />
            {t('approve')}
          </Button>
          <Button
            variant="quiet"
            disabled={decision.isBusy}
            onClick={() => decision.run('rejected')}
          >
            <X size={16} aria-hidden />
            {t('reject')}
          </Button>
        </div>
        {decision.failure ? (
          <div className="mt-4">
            <Problem error={decision.failure} />
          </div>
        ) : null}
      </section>
    </Sheet>
  )
}
