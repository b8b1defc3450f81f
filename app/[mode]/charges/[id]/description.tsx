'use client'

import { useSearchParams } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useHasPermission } from '#components/nav/permissions.tsx'
import { Fact } from '#components/ui/details.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'

const DescriptionDialog = lazyDialog(
  () => import('#app/[mode]/charges/[id]/description-dialog.tsx'),
  'DescriptionDialog',
)

/** Shows what the payer reads, and changes it while the charge is pending. */
export function Description() {
  const t = useTranslations('description')
  const { status, description } = useLiveCharge().timeline.charge
  const canWrite = useHasPermission()('charges:write') && status === 'pending'
  // A text that the form of a new charge could not save.
  const unsaved = useSearchParams().get('description') ?? ''
  const [isOpen, setOpen] = useState(canWrite && !description && unsaved !== '')
  if (!description && !canWrite && !isOpen) return null
  return (
    <Fact name={t('label')}>
      {description ? <span className="mr-3 break-words">{description}</span> : null}
      {canWrite ? (
        <button
          type="button"
          onClick={() => setOpen(true)}
          className="min-h-6 font-semibold text-accent text-small hover:underline"
        >
          {t(description ? 'edit' : 'add')}
        </button>
      ) : null}
      {isOpen ? (
        <DescriptionDialog
          defaultValue={description ?? unsaved}
          isUnsaved={!description && unsaved !== ''}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </Fact>
  )
}
