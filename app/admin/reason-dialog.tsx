'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { optionalReasonRequest, reasonRequest } from '#lib/operator/schema.ts'

interface ReasonDialogProps {
  title: string
  description: string
  action: string
  /** Who reads the reason; by default, the account's owners. */
  reasonHint?: string
  path: string
  /** Sent with the reason. */
  fields?: object
  isOptional?: boolean
  isDestructive?: boolean
  onClose: () => void
  onDone?: (response: unknown) => void
}

export function ReasonDialog(props: ReasonDialogProps) {
  const { title, description, action, path, fields, isOptional, isDestructive } = props
  const { reasonHint, onClose, onDone } = props
  const t = useTranslations()
  const api = useApi()
  const router = useRouter()
  const form = useForm({
    schema: isOptional ? optionalReasonRequest : reasonRequest,
    read: data => ({ reason: String(data.get('reason')).trim() || undefined }),
    send: async body => {
      const response = await api.send('POST', path, { body: { ...fields, ...body } })
      onDone?.(response)
      router.refresh()
      onClose()
    },
  })
  const problem = form.problems.reason
  return (
    <Dialog isOpen onClose={onClose} title={title} description={description}>
      <form {...form.props} className="grid gap-5">
        <Field
          label={t('adminDeed.reason')}
          note={isOptional ? t('ui.optional') : undefined}
          name="reason"
          maxLength={200}
          autoComplete="off"
          hint={reasonHint ?? t('adminDeed.reasonHint')}
          problem={problem ? t('adminDeed.reasonInvalid') : null}
        />
        <DialogActions
          action={action}
          busy={t('adminDeed.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          isDestructive={isDestructive}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
