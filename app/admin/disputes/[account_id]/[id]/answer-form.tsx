'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.ts'
import { Button } from '#components/ui/button.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { ANSWER_MAX } from '#lib/charges/disputes/schema.ts'
import { answerRequest } from '#lib/operator/disputes/schema.ts'

/** The text of the defence, which is sent once it has been confirmed. */
export function AnswerForm({ path, text }: { path: string; text: string }) {
  const t = useTranslations('disputes')
  const [confirmed, setConfirmed] = useState<string | null>(null)
  const form = useForm({
    schema: answerRequest,
    read: data => ({ text: String(data.get('text')).replaceAll('\r\n', '\n') }),
    send: async body => setConfirmed(body.text),
  })
  return (
    <>
      <form {...form.props} className="grid gap-5">
        <TextArea
          label={t('text')}
          name="text"
          lang="pt-BR"
          rows={12}
          maxLength={ANSWER_MAX}
          defaultValue={text}
          hint={t('textHint', { max: ANSWER_MAX })}
          problem={form.problems.text ? t('textInvalid', { max: ANSWER_MAX }) : null}
        />
        <div>
          <Button type="submit" variant="primary" disabled={form.isBusy}>
            {t('send')}
          </Button>
        </div>
      </form>
      {confirmed === null ? null : (
        <Confirmation path={path} text={confirmed} onClose={() => setConfirmed(null)} />
      )}
    </>
  )
}

interface ConfirmationProps {
  path: string
  text: string
  onClose: () => void
}

function Confirmation({ path, text, onClose }: ConfirmationProps) {
  const t = useTranslations('disputes')
  const api = useApi()
  const router = useRouter()
  const form = useForm({
    schema: answerRequest,
    read: () => ({ text }),
    send: async body => {
      await api.send('POST', path, { body })
      router.refresh()
      onClose()
    },
  })
  return (
    <Dialog isOpen onClose={onClose} title={t('confirmTitle')} description={t('confirmText')}>
      <form {...form.props} className="grid gap-5">
        <DialogActions
          action={t('send')}
          busy={t('sending')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
