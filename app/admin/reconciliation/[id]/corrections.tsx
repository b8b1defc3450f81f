'use client'

import { Paperclip } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useAction, useApi } from '#components/form/api.ts'
import { Problem } from '#components/form/problem.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import type {
  Correction,
  CorrectionParty,
  DifferenceDetail,
} from '#lib/operator/differences/schema.ts'

const CorrectionDialog = lazyDialog(
  () => import('#app/admin/reconciliation/[id]/correction-dialog.tsx'),
  'CorrectionDialog',
)

/** Opens the form of an entry that settles the difference. */
export function ProposeCorrection({ item }: { item: DifferenceDetail }) {
  const t = useTranslations('corrections')
  const [isOpen, setOpen] = useState(false)
  const { correction_terms: terms } = item
  if (!terms) return null
  return (
    <>
      <p className="mb-4 text-muted text-small">{t('text')}</p>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        {t('open')}
      </Button>
      {isOpen ? (
        <CorrectionDialog item={item} terms={terms} onClose={() => setOpen(false)} />
      ) : null}
    </>
  )
}

interface CorrectionsProps {
  itemId: string
  corrections: Correction[]
}

/** Entries of two admins about a difference: one that waits for the second, and those that are booked. */
export function Corrections({ itemId, corrections }: CorrectionsProps) {
  return corrections.map(correction => (
    <div key={correction.id} className="grid gap-4">
      <CorrectionFacts itemId={itemId} correction={correction} />
      {correction.expires_at ? <Approval itemId={itemId} correction={correction} /> : null}
    </div>
  ))
}

interface CorrectionProps {
  itemId: string
  correction: Correction
}

function CorrectionFacts({ itemId, correction }: CorrectionProps) {
  const t = useTranslations('corrections')
  const { id, from, to, amount, reason, proposed_by: first, approved_by: second } = correction
  return (
    <Facts>
      <Fact name={t('amount')}>
        <span className="font-semibold">
          <Money cents={amount} />
        </span>
      </Fact>
      <Fact name={t('from')}>
        <PartyName party={from} />
      </Fact>
      <Fact name={t('to')}>
        <PartyName party={to} />
      </Fact>
      <Fact name={t('reason')}>
        <span className="break-words">{reason}</span>
      </Fact>
      <Fact name={t('attachment')}>
        <a
          href={`/api/admin/differences/${itemId}/corrections/${id}/attachment`}
          download
          className="inline-flex min-h-6 items-center gap-1.5 font-semibold text-accent hover:underline"
        >
          <Paperclip size={14} aria-hidden />
          {t('download')}
        </a>
      </Fact>
      <Fact name={t('proposedBy')}>{first ?? t('host')}</Fact>
      {correction.booked_at ? (
        <>
          <Fact name={t('approvedBy')}>{second ?? t('host')}</Fact>
          <Fact name={t('bookedAt')}>
            <ExactTime at={correction.booked_at} format="dated" />
          </Fact>
        </>
      ) : null}
    </Facts>
  )
}

export function PartyName({ party }: { party: CorrectionParty }) {
  const t = useTranslations('corrections')
  if (party.id === 'bank' || party.id === 'operator') return t(`party.${party.id}`)
  return <span className="break-words">{party.name}</span>
}

function Approval({ itemId, correction }: CorrectionProps) {
  const t = useTranslations('corrections')
  const api = useApi()
  const router = useRouter()
  const approval = useAction(async () => {
    await api.send('POST', `/admin/differences/${itemId}/corrections/${correction.id}/approve`)
    router.refresh()
  })
  const { can_approve: canApprove, expires_at: expiresAt } = correction
  return (
    <>
      <p className="text-small">
        {canApprove ? t('approveText') : t('otherText')} {t('until')}{' '}
        {expiresAt ? <ExactTime at={expiresAt} format="dated" /> : null}.
      </p>
      <Problem error={approval.failure} />
      {canApprove ? (
        <div>
          <Button variant="primary" disabled={approval.isBusy} onClick={() => approval.run()}>
            {t('approve')}
          </Button>
        </div>
      ) : null}
    </>
  )
}
