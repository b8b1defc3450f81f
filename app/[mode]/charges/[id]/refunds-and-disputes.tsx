'use client'

import { Check, Clock, type LucideIcon, Paperclip, X } from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useRejectionText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { Money, moneyText } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { SentEvidence } from '#components/status/evidence.tsx'
import { Deadline, DisputeState, stateOf } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { Sheet } from '#components/ui/sheet.tsx'
import { EVIDENCE_MAX } from '#lib/charges/disputes/schema.ts'
import type { ChargeTimelineData } from '#lib/dashboard/schema.ts'

type Refund = ChargeTimelineData['refunds'][number]

const STATUS_STYLES: Record<Refund['status'], { tone: Tone; icon: LucideIcon }> = {
  pending: { tone: 'wait', icon: Clock },
  completed: { tone: 'ok', icon: Check },
  rejected: { tone: 'bad', icon: X },
}

export function Refunds() {
  const t = useTranslations('refund')
  const { refunds } = useLiveCharge().timeline
  const rejectionText = useRejectionText()
  if (refunds.length === 0) return null
  return (
    <Sheet className="px-5 py-5 md:px-6">
      <h2 className="mb-2 text-title">{t('list')}</h2>
      <ul>
        {refunds.map(refund => (
          <li
            key={refund.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 border-line py-2.5 not-first:border-t last:pb-0"
          >
            <span className="font-semibold">
              <Money cents={refund.amount} />
            </span>
            <span className="justify-self-end">
              <Chip {...STATUS_STYLES[refund.status]}>{t(`status.${refund.status}`)}</Chip>
            </span>
            <span className="min-w-0 break-words text-muted text-small">
              {rejectionText(refund) ?? (refund.is_late ? t('late') : (refund.reason ?? ''))}
            </span>
            <span className="justify-self-end text-muted text-small">
              <RelativeTime
                at={refund.completed_at ?? refund.rejected_at ?? refund.created_at}
                side="end"
              />
            </span>
          </li>
        ))}
      </ul>
    </Sheet>
  )
}

type Dispute = ChargeTimelineData['disputes'][number]

export function Disputes() {
  const t = useTranslations('disputes')
  const { charge, disputes } = useLiveCharge().timeline
  if (disputes.length === 0) return null
  return (
    <Sheet className="px-5 py-5 md:px-6">
      <div className="mb-2 flex flex-wrap items-baseline justify-between gap-x-4">
        <h2 className="text-title">{t('title')}</h2>
        <Link
          href={`/${charge.mode}/disputes`}
          prefetch={false}
          className="font-medium text-accent text-small hover:underline"
        >
          {t('all')}
        </Link>
      </div>
      <ul>
        {disputes.map(dispute => (
          <li
            key={dispute.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-1 border-line py-2.5 not-first:border-t last:pb-0"
          >
            <span className="font-semibold">
              <Money cents={dispute.amount} />
            </span>
            <DisputeState dispute={dispute} />
            <DisputeNext dispute={dispute} />
          </li>
        ))}
      </ul>
    </Sheet>
  )
}

const EvidenceDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/evidence-dialog.tsx'),
  'EvidenceDialog',
)

/** What the merchant can do about the dispute, or how it ended. */
function DisputeNext({ dispute }: { dispute: Dispute }) {
  const t = useTranslations('disputes')
  const locale = useLocale()
  const { amount, lost_amount: lost } = dispute
  const state = stateOf(dispute)
  const api = useApi()
  const [isOpen, setOpen] = useState(false)
  return (
    <div className="col-span-2 text-small">
      {state === 'open' ? (
        <p>
          <span className="text-muted">{t('deadline')}: </span>
          <Deadline dispute={dispute} />
        </p>
      ) : null}
      <p className="text-muted">
        {t(`next.${state}`, { amount: moneyText(lost ?? amount, locale) })}
      </p>
      <SentEvidence
        evidence={dispute.evidence}
        read={evidence_id =>
          api.fetchRaw('/disputes/[id]/evidence/[evidence_id]', {
            params: { id: dispute.id, evidence_id },
          })
        }
      />
      {state === 'open' && dispute.evidence.length < EVIDENCE_MAX ? (
        <IfAllowed permission="transactions:write">
          <Button variant="quiet" className="mt-3" onClick={() => setOpen(true)}>
            <Paperclip size={16} aria-hidden />
            {t('addEvidence')}
          </Button>
          {isOpen ? <EvidenceDialog id={dispute.id} onClose={() => setOpen(false)} /> : null}
        </IfAllowed>
      ) : null}
    </div>
  )
}
