'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import type { MemberRow } from '#lib/rooms/accounts/schema.ts'

interface RemoveDialogProps {
  deed: 'remove' | 'leave'
  member: MemberRow
  onClose: () => void
  onDone: () => void
}

/** Removes a member, or lets one leave. */
export function RemoveDialog({ deed, member, onClose, onDone }: RemoveDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const { user_id: id, full_name: name } = member
  async function go() {
    setBusy(true)
    setFailure(null)
    try {
      if (deed === 'leave') {
        await api.send('POST', '/dashboard/members/leave')
        // Full page load: the cached data belongs to the account just left.
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
      title={t(`members.${deed}Title`, { name })}
      description={t(`members.${deed}Text`)}
    >
      <div className="grid gap-5">
        <DialogActions
          action={t(`members.${deed}`)}
          busy={t('members.busy')}
          {...{ isBusy, failure }}
          isHarsh
          onCancel={onClose}
          onAct={go}
        />
      </div>
    </Dialog>
  )
}
