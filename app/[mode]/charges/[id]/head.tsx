'use client'

import { ExternalLink, Undo2 } from 'lucide-react'
import dynamic from 'next/dynamic'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useStory } from '#app/[mode]/charges/[id]/story.tsx'
import { IfMay } from '#components/nav/may.tsx'
import { ChargeState } from '#components/status/state-chips.tsx'
import { Button, buttonClass } from '#components/ui/button.tsx'
import { CopyButton } from '#components/ui/copy.tsx'

const RefundDialog = dynamic(() =>
  import('#app/[mode]/charges/[id]/refund-dialog.tsx').then(module => module.RefundDialog),
)

export function ChargeActions() {
  const t = useTranslations()
  const { story } = useStory()
  const { status, payment_url } = story.charge
  return (
    <>
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
      {story.refundable > 0 ? (
        <IfMay do="refunds:write">
          <Refund />
        </IfMay>
      ) : null}
    </>
  )
}

function Refund() {
  const t = useTranslations('refund')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button look="quiet" onClick={() => setOpen(true)}>
        <Undo2 size={16} aria-hidden />
        {t('action')}
      </Button>
      {isOpen ? <RefundDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}

export function LiveChargeState() {
  const { status } = useStory().story.charge
  return (
    <span data-testid="charge-status">
      <ChargeState status={status} />
    </span>
  )
}
