'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { FactorForm } from '#components/proof/factor-form.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { Factor } from '#lib/services/people/schema.ts'

interface RenewDialogProps {
  methods: Factor[]
  onClose: () => void
  onDone: (codes: string[]) => void
}

/** New recovery codes require a second factor, however recent the last proof was. */
export function RenewDialog({ methods, onClose, onDone }: RenewDialogProps) {
  const t = useTranslations('factor')
  const api = useApi()
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={t('codes.renewTitle')}
      description={t('codes.renewText')}
    >
      <FactorForm
        methods={methods}
        onShown={async body => {
          const path = '/person/recovery-codes'
          const said = await api.send<{ data: { recovery_codes: string[] } }>('POST', path, {
            body,
          })
          onDone(said.data.recovery_codes)
        }}
      />
    </Dialog>
  )
}
