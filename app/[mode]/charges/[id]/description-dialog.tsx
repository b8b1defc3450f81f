'use client'

import { useTranslations } from 'next-intl'
import type { SubmitEvent } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useAction, useApi } from '#components/form/api.ts'
import { useDraft } from '#components/form/draft.ts'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { DESCRIPTION_LENGTH_MAX } from '#lib/charges/states.ts'

interface DescriptionDialogProps {
  defaultValue: string
  /** Whether the charge was created without this text. */
  isUnsaved: boolean
  onClose: () => void
}

export function DescriptionDialog(props: DescriptionDialogProps) {
  const t = useTranslations('description')
  const { isUnsaved, onClose } = props
  return (
    <Dialog isOpen onClose={onClose} title={t('title')} description={isUnsaved && t('unsaved')}>
      <DescriptionForm {...props} />
    </Dialog>
  )
}

/** A component of its own: when it is mounted, its form is in the page, which the draft needs. */
function DescriptionForm({ defaultValue, onClose }: DescriptionDialogProps) {
  const t = useTranslations('description')
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const draft = useDraft()
  const save = useAction(async (description: string) => {
    const path = `/dashboard/charges/${timeline.charge.id}/description`
    try {
      await api.send('POST', path, { body: { description } })
    } finally {
      // After a refusal, too: the charge may have been paid meanwhile.
      void refresh()
    }
    onClose()
  })
  function submit(event: SubmitEvent<HTMLFormElement>) {
    event.preventDefault()
    void save.run(String(new FormData(event.currentTarget).get('description')).trim())
  }
  return (
    <form
      id={draft.id}
      method="post"
      onInput={draft.markEdited}
      onSubmit={submit}
      className="grid gap-4"
    >
      <TextArea
        label={t('label')}
        name="description"
        rows={4}
        maxLength={DESCRIPTION_LENGTH_MAX}
        defaultValue={defaultValue}
        hint={t('hint')}
      />
      <DialogActions
        action={t('save')}
        busy={t('saving')}
        isBusy={save.isBusy}
        failure={save.failure}
        onCancel={onClose}
      />
    </form>
  )
}
