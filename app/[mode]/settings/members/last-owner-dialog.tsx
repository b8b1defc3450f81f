'use client'

import { useTranslations } from 'next-intl'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'

interface LastOwnerDialogProps {
  /** The action that the last owner cannot take before another member is an owner. */
  wanted: 'leave' | 'role'
  onClose: () => void
}

export function LastOwnerDialog({ wanted, onClose }: LastOwnerDialogProps) {
  const t = useTranslations('members')
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('lastOwner.title')}
      description={t(`lastOwner.${wanted}`)}
    >
      <div className="flex justify-end">
        <Button variant="quiet" onClick={onClose}>
          {t('lastOwner.close')}
        </Button>
      </div>
    </Dialog>
  )
}
