'use client'

import { useTranslations } from 'next-intl'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useApi } from '#components/api/use-api.ts'
import { FileField } from '#components/form/file-field.tsx'
import { useForm } from '#components/form/form.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { ANSWER_MAX, evidenceRequest } from '#lib/charges/disputes/schema.ts'
import { ATTACHMENT_TYPES } from '#lib/core/attachments.ts'

interface EvidenceDialogProps {
  /** Id of the dispute. */
  id: string
  onClose: () => void
}

export function EvidenceDialog(props: EvidenceDialogProps) {
  const t = useTranslations('disputes')
  return (
    <Dialog onClose={props.onClose} title={t('addEvidence')} description={t('addText')}>
      <EvidenceForm {...props} />
    </Dialog>
  )
}

/** A component of its own: when it is mounted, its form is in the page, which the draft needs. */
function EvidenceForm({ id, onClose }: EvidenceDialogProps) {
  const t = useTranslations('disputes')
  const api = useApi()
  const { refresh } = useLiveCharge()
  const form = useForm({
    schema: evidenceRequest[api.scope.mode],
    read: data => {
      const read = (name: string) => String(data.get(name) ?? '').trim() || undefined
      return {
        text: read('text')?.replaceAll('\r\n', '\n'),
        file: read('file'),
        file_name: read('file_name'),
      }
    },
    async send(body, idempotencyKey) {
      try {
        await api.post('/disputes/[id]/evidence', { params: { id }, body, idempotencyKey })
      } finally {
        // After a refusal, too: the defense may have been sent meanwhile.
        void refresh()
      }
      onClose()
    },
  })
  return (
    <form {...form.props} className="grid gap-4">
      <TextArea
        label={t('evidenceField')}
        name="text"
        rows={5}
        maxLength={ANSWER_MAX}
        hint={t('evidenceHint')}
        problem={form.problems.text ? t('evidenceInvalid', { max: ANSWER_MAX }) : null}
      />
      <FileField
        label={t('evidenceFile')}
        name="file"
        accept={ATTACHMENT_TYPES.join(',')}
        as="base64"
        isNamed
        hint={t('evidenceFileHint')}
        problem={form.problems.file || form.problems.file_name ? t('evidenceFileInvalid') : null}
      />
      <DialogActions
        action={t('sendEvidence')}
        busy={t('sending')}
        isBusy={form.isBusy}
        failure={form.failure}
        onCancel={onClose}
      />
    </form>
  )
}
