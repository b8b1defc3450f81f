'use client'

import { Check, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { Button } from '#components/ui/button.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import type { WithdrawalTimelineData } from '#lib/dashboard/schema.ts'

interface ApprovalCardProps {
  withdrawalId: string
  approval: NonNullable<WithdrawalTimelineData['approval']>
  onDecided: () => Promise<unknown>
}

/** Lets a second member approve or decline; the requester may only decline. */
export function ApprovalCard({ withdrawalId, approval, onDecided }: ApprovalCardProps) {
  const t = useTranslations('approvals')
  const api = useApi()
  const canDecide = useHasPermission()('withdrawals:approve')
  const decision = useAction(
    (name: 'approve' | 'decline') =>
      api.send('POST', `/dashboard/withdrawals/${withdrawalId}/${name}`),
    onDecided,
  )
  const text = !canDecide ? 'textOthers' : approval.can_approve ? 'text' : 'textOwn'
  return (
    <Sheet className="border-wait! px-4 py-5 md:px-7 md:py-6">
      <section aria-labelledby="approval">
        <h2 id="approval" className="text-title">
          {t('title')}
        </h2>
        <p className="mt-1 text-muted text-small">
          {approval.requester ? t('requester', { name: approval.requester }) : t('requesterNone')}{' '}
          {t(text)}
        </p>
        {canDecide ? (
          <div className="mt-4 flex flex-wrap gap-3">
            {approval.can_approve ? (
              <Button
                variant="primary"
                disabled={decision.isBusy}
                onClick={() => decision.run('approve')}
              >
                <Check size={16} aria-hidden />
                {t('approve')}
              </Button>
            ) : null}
            <Button
              variant="quiet"
              disabled={decision.isBusy}
              onClick={() => decision.run('decline')}
            >
              <X size={16} aria-hidden />
              {t('decline')}
            </Button>
          </div>
        ) : null}
        {decision.failure ? (
          <div className="mt-4">
            <Problem error={decision.failure} />
          </div>
        ) : null}
      </section>
    </Sheet>
  )
}
