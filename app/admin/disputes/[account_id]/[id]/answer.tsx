'use client'

import { CircleAlert, Clock } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.tsx'
import { ExactTime } from '#components/format/format.tsx'
import { stateOf } from '#components/status/dispute-state.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { ANSWER_MAX } from '#lib/charges/disputes/schema.ts'
import { answerRequest, type DisputeWithEvidence } from '#lib/operator/schema.ts'

interface AnswerProps {
  dispute: DisputeWithEvidence
  draft: string
  /** The draft in the reader's language; null if that is the bank's. */
  translation: string | null
}

export function Answer({ dispute, draft, translation }: AnswerProps) {
  const t = useTranslations('disputes')
  const { answer, answer_state: state, bank_text: bankText, respond_by: respondBy } = dispute
  const canAnswer = stateOf(dispute) === 'open'
  const now = useNow()
  const isPassed = respondBy !== null && Date.parse(respondBy) < now.getTime()
  return (
    <div className="grid gap-5">
      {state === null ? null : (
        <Notice tone={isBad(state) ? 'bad' : 'wait'} icon={isBad(state) ? CircleAlert : Clock}>
          {answer === null ? t('elsewhere') : t(`outcome.${state}`)}
        </Notice>
      )}
      {state !== null && isBad(state) && bankText ? (
        <p className="break-words text-muted text-small">{t('bankSaid', { text: bankText })}</p>
      ) : null}
      {canAnswer || answer === null ? null : <SentAnswer dispute={dispute} text={answer} />}
      {canAnswer ? (
        <>
          {isPassed ? (
            <Notice tone="bad" icon={CircleAlert}>
              {t('deadlinePassed')}
            </Notice>
          ) : null}
          <p className="text-muted text-small">{t('answerText')}</p>
          <AnswerForm
            path={`/admin/accounts/${dispute.account.id}/disputes/${dispute.id}/answer`}
            text={answer ?? draft}
          />
          {translation === null || answer !== null ? null : (
            <details className="text-small">
              <summary className="cursor-pointer font-semibold">{t('translation')}</summary>
              <p className="mt-2 whitespace-pre-line text-muted">{translation}</p>
            </details>
          )}
        </>
      ) : dispute.status === 'open' ? null : (
        <p className="text-muted text-small">{t('ended')}</p>
      )}
    </div>
  )
}

function isBad(state: NonNullable<DisputeWithEvidence['answer_state']>): boolean {
  return state === 'late' || state === 'refused' || state === 'unsent'
}

function SentAnswer({ dispute, text }: { dispute: DisputeWithEvidence; text: string }) {
  const t = useTranslations('disputes')
  const { answered_at: at, answered_by: by } = dispute
  return (
    <>
      <blockquote className="whitespace-pre-line break-words rounded-control bg-sunk px-4 py-3">
        {text}
      </blockquote>
      <Facts>
        <Fact name={t('sentBy')}>{by ?? '—'}</Fact>
        {at ? (
          <Fact name={t('sentAt')}>
            <ExactTime at={at} format="dated" />
          </Fact>
        ) : null}
      </Facts>
    </>
  )
}

/** The text of the defence, which is sent once it has been confirmed. */
function AnswerForm({ path, text }: { path: string; text: string }) {
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
