'use client'

import { useTranslations } from 'next-intl'
import { AddressField, readAddresses } from '#app/[mode]/settings/tokens/address-field.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { addressesRequest, type TokenRow } from '#lib/tokens/schema.ts'

interface AddressDialogProps {
  token: TokenRow
  onClose: () => void
  onDone: () => void
}

export function AddressDialog({ token, onClose, onDone }: AddressDialogProps) {
  const t = useTranslations('tokens')
  const api = useApi()
  const form = useForm({
    schema: addressesRequest.test,
    read: data => ({ allowed_addresses: readAddresses(data) }),
    send: async body => {
      await api.send('PATCH', `/tokens/${token.id}`, { body })
      onDone()
      onClose()
    },
  })
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('addresses.title', { name: token.name })}
      description={t('addresses.text')}
    >
      <form {...form.props} className="grid gap-5">
        <AddressField
          addresses={token.allowed_addresses}
          isWrong={form.problems.allowed_addresses !== undefined}
        />
        <DialogActions
          action={t('addresses.save')}
          busy={t('busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
