'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import type { ShownPasskey } from '#lib/people/schema.ts'

interface RemoveDialogProps {
  /** Passkey to remove; null to remove the authenticator app. */
  passkey: ShownPasskey | null
  isLast: boolean
  onClose: () => void
  onDone: () => void
}

export function RemoveDialog({ passkey, isLast, onClose, onDone }: RemoveDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const path = passkey ? `/person/passkeys/${passkey.id}` : '/person/authenticator'
  const removal = useAction(() => api.send('DELETE', path).then(onDone))
  const title = passkey
    ? t('factor.passkey.removeTitle', { name: passkey.name })
    : t('factor.app.removeTitle')
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={title}
      description={isLast ? t('factor.removeLast') : t('factor.removeOther')}
    >
      <div className="grid gap-5">
        <DialogActions
          action={passkey ? t('factor.passkey.remove') : t('factor.app.remove')}
          busy={t('factor.busy')}
          isBusy={removal.isBusy || removal.isDone}
          failure={removal.failure}
          isDestructive
          onCancel={onClose}
          onConfirm={removal.run}
        />
      </div>
    </Dialog>
  )
}
