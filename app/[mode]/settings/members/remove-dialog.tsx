'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import type { MemberRow } from '#lib/rooms/accounts/schema.ts'

interface RemoveDialogProps {
  action: 'remove' | 'leave'
  member: MemberRow
  onClose: () => void
  onDone: () => void
}

/** Removes another member, or leaves the account. */
export function RemoveDialog({ action, member, onClose, onDone }: RemoveDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const { user_id: id, full_name: name } = member
  async function submit() {
    setBusy(true)
    setFailure(null)
    try {
      if (action === 'leave') {
        await api.send('POST', '/dashboard/members/leave')
        // Full page load, because the cached data belongs to the account just left.
        return location.assign('/')
      }
      await api.send('DELETE', `/dashboard/members/${id}`)
      onDone()
      onClose()
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t(`members.${action}Title`, { name })}
      description={t(`members.${action}Text`)}
    >
      <div className="grid gap-5">
        <DialogActions
          action={t(`members.${action}`)}
          busy={t('members.busy')}
          {...{ isBusy, failure }}
          isDestructive
          onCancel={onClose}
          onConfirm={submit}
        />
      </div>
    </Dialog>
  )
}
