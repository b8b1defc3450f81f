'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'

interface LeaveDialogProps {
  name: string
  onClose: () => void
}

export function LeaveDialog({ name, onClose }: LeaveDialogProps) {
  const t = useTranslations('members')
  const api = useApi()
  const leaving = useAction(async () => {
    await api.send('POST', '/dashboard/members/leave')
    // Full page load: the cached data belongs to the account just left.
    location.assign('/')
  })
  return (
    <Dialog isOpen onClose={onClose} title={t('leaveTitle', { name })} description={t('leaveText')}>
      <div className="grid gap-5">
        <DialogActions
          action={t('leave')}
          busy={t('busy')}
          isBusy={leaving.isBusy || leaving.isDone}
          failure={leaving.failure}
          isDestructive
          onCancel={onClose}
          onConfirm={leaving.run}
        />
      </div>
    </Dialog>
  )
}
