'use client'

import { useTranslations } from 'next-intl'
import { useAction } from '#components/form/action.ts'
import { useApi } from '#components/form/api.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import type { TokenRow } from '#lib/tokens/schema.ts'

interface AdoptDialogProps {
  token: TokenRow
  onClose: () => void
  onDone: () => void
}

/** Lets an owner confirm a token that exceeds the role of its issuer. */
export function AdoptDialog({ token, onClose, onDone }: AdoptDialogProps) {
  const t = useTranslations('tokens')
  const api = useApi()
  const adoption = useAction(async () => {
    await api.send('POST', `/dashboard/tokens/${token.id}/adopt`)
    onDone()
    onClose()
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('adoptTitle', { name: token.name })}
      description={t('adoptText')}
    >
      <div className="grid gap-5">
        <p className="truncate font-mono text-[13px] text-muted">
          {token.prefix}…{token.last_four}
        </p>
        <DialogActions
          action={t('adopt')}
          busy={t('busy')}
          isBusy={adoption.isBusy}
          failure={adoption.failure}
          onCancel={onClose}
          onConfirm={adoption.run}
        />
      </div>
    </Dialog>
  )
}
