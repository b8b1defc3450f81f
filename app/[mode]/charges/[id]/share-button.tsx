'use client'

import { Share2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'

const ShareDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/share-dialog.tsx'),
  'ShareDialog',
)

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
