'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
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
  isDestructive?: boolean
  onClose: () => void
}

type Sending =
  | { isOptional?: false; send: (body: { reason: string }) => Promise<unknown> }
  | { isOptional: true; send: (body: { reason?: string }) => Promise<unknown> }

export function ReasonDialog(props: ReasonDialogProps & Sending) {
  const { title, description, action, isOptional, isDestructive } = props
  const { reasonHint, onClose } = props
  const t = useTranslations()
  const router = useRouter()
  const form = useForm({
    schema: isOptional ? optionalReasonRequest : reasonRequest,
    read: data => ({ reason: String(data.get('reason')).trim() || undefined }),
    send: async body => {
      await (props.isOptional ? props.send(body) : props.send({ reason: body.reason ?? '' }))
      router.refresh()
      onClose()
    },
  })
  const problem = form.problems.reason
  return (
    <Dialog onClose={onClose} title={title} description={description}>
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
