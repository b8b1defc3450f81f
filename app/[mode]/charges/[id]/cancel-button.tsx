'use client'

import { Ban } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'

const CancelDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/cancel-dialog.tsx'),
  'CancelDialog',
)

/** When the charge ends meanwhile, the panel shows its outcome in place of the dialog. */
export function CancelButton() {
  const t = useTranslations('cancel')
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button
        variant="plain"
        onClick={() => setOpen(true)}
        className="mt-2 w-full justify-center text-small"
      >
        <Ban size={16} aria-hidden />
        {t('action')}
      </Button>
      {isOpen ? <CancelDialog onClose={() => setOpen(false)} /> : null}
    </>
  )
}
