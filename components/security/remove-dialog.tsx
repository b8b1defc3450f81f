'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/api.ts'
import { Problem } from '#components/problem.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { ShownPasskey } from '#lib/people/schema.ts'

interface RemoveDialogProps {
  /** Null: the app. */
  passkey: ShownPasskey | null
  isLast: boolean
  onClose: () => void
  onDone: () => void
}

/** Asks once more before somebody has one factor less, and says what that means. */
export function RemoveDialog({ passkey, isLast, onClose, onDone }: RemoveDialogProps) {
  const t = useTranslations()
  const api = useApi()
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>(null)
  const path = passkey ? `/person/passkeys/${passkey.id}` : '/person/authenticator'
  async function remove() {
    setBusy(true)
    setFailure(null)
    try {
      await api.send('DELETE', path)
      onDone()
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
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
        <Problem error={failure} />
        <div className="flex flex-wrap justify-end gap-3">
          <Button look="quiet" onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button
            look="primary"
            disabled={isBusy}
            onClick={remove}
            className="bg-bad! text-surface!"
          >
            {isBusy
              ? t('factor.busy')
              : passkey
                ? t('factor.passkey.remove')
                : t('factor.app.remove')}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
