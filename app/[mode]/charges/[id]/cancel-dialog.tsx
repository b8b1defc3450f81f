'use client'

import { useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useAction, useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'

export function CancelDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations('cancel')
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const cancel = useAction(async () => {
    try {
      await api.send('POST', `/dashboard/charges/${timeline.charge.id}/cancel`)
    } finally {
      // After a refusal, too: the charge may have been paid meanwhile.
      void refresh()
    }
    onClose()
  })
  return (
    <Dialog isOpen onClose={onClose} title={t('title')} description={t('text')}>
      <div className="grid gap-4">
        <DialogActions
          action={t('confirm')}
          busy={t('busy')}
          isBusy={cancel.isBusy}
          failure={cancel.failure}
          isDestructive
          keep={t('keep')}
          onCancel={onClose}
          onConfirm={() => void cancel.run()}
        />
      </div>
    </Dialog>
  )
}
