'use client'

import { useTranslations } from 'next-intl'
import { useApi } from '#components/form/api.ts'
import { FactorForm } from '#components/proof/factor-form.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import type { Factor } from '#lib/people/schema.ts'

interface RenewCodesDialogProps {
  methods: Factor[]
  onClose: () => void
  onDone: (codes: string[]) => void
}

/** Requires a second factor even after a recent proof: recovery codes replace the second factor. */
export function RenewCodesDialog({ methods, onClose, onDone }: RenewCodesDialogProps) {
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
        onProof={async body => {
          const path = '/person/recovery-codes'
          const response = await api.send<{ data: { recovery_codes: string[] } }>('POST', path, {
            body,
          })
          onDone(response.data.recovery_codes)
        }}
      />
    </Dialog>
  )
}
