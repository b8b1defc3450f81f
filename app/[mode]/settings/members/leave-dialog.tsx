'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'

export function LeaveDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const t = useTranslations('members')
  const api = useApi()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  async function submit() {
    setBusy(true)
    setFailure(null)
    try {
      await api.send('POST', '/dashboard/members/leave')
      // Full page load: the cached data belongs to the account just left.
      location.assign('/')
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog isOpen onClose={onClose} title={t('leaveTitle', { name })} description={t('leaveText')}>
      <div className="grid gap-5">
        <DialogActions
          action={t('leave')}
          busy={t('busy')}
          {...{ isBusy, failure }}
          isDestructive
          onCancel={onClose}
          onConfirm={submit}
        />
      </div>
    </Dialog>
  )
}
