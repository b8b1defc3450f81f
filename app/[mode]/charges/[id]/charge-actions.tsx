'use client'

import { ExternalLink, ReceiptText, Share2, Undo2 } from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { IfAllowed } from '#components/nav/permissions.tsx'
import { ChargeState } from '#components/status/state-chips.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { shownStatusOf } from '#lib/charges/states.ts'

const RefundDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/dialogs.tsx'),
  'RefundDialog',
)

export function ChargeActions({ merchant }: { merchant: string }) {
  const t = useTranslations()
  const { timeline } = useLiveCharge()
  const { id, mode, status, payment_url } = timeline.charge
  return (
    <>
      {status === 'pending' ? <ShareButton merchant={merchant} /> : null}
      {status === 'pending' ? (
        <div className="flex">
          <CopyButton
            text={payment_url}
            label={t('charge.payerLink')}
            className="rounded-r-none border-r-0"
          />
          <a
            href={payment_url}
            target="_blank"
            rel="noopener"
            aria-label={t('charge.openPayerPage')}
            className={`${buttonClass('quiet')} rounded-l-none px-2.5`}
          >
            <ExternalLink size={16} aria-hidden />
          </a>
        </div>
      ) : null}
      {timeline.receipt_url ? (
        <Link
          href={`/${mode}/charges/${id}/receipt`}
          prefetch={false}
          className={buttonClass('quiet')}
        >
          <ReceiptText size={16} aria-hidden />
          {t('charge.receipt')}
        </Link>
      ) : null}
      <IfAllowed permission="refunds:write">
        <Refund isOffered={timeline.refundable > 0} />
      </IfAllowed>
    </>
  )
}

/** An open dialog stays when nothing is left to refund any more: it says so. */
function Refund({ isOffered }: { isOffered: boolean }) {
  const t = useTranslations('refund')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {isOffered ? (
        <Button variant="quiet" onClick={() => setOpen(true)}>
          <Undo2 size={16} aria-hidden />
          {t('action')}
        </Button>
      ) : null}
      {isOpen ? <RefundDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}

export function LiveChargeState() {
  const { charge } = useLiveCharge().timeline
  return (
    <span data-testid="charge-status">
      <ChargeState status={shownStatusOf(charge)} />
    </span>
  )
}

const ShareDialog = lazyDialog(() => import('#app/[mode]/charges/[id]/dialogs.tsx'), 'ShareDialog')

/** Shares how to pay, or the receipt of a paid charge. */
export function ShareButton({ merchant }: { merchant: string }) {
  const t = useTranslations('share')
  const isPaid = useLiveCharge().timeline.receipt_url !== null
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button variant={isPaid ? 'quiet' : 'primary'} onClick={() => setOpen(true)}>
        <Share2 size={16} aria-hidden />
        {t(isPaid ? 'receiptAction' : 'action')}
      </Button>
      {isOpen ? <ShareDialog merchant={merchant} onClose={() => setOpen(false)} /> : null}
    </>
  )
}
