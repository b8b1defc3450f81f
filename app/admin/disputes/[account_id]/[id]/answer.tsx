'use client'

import { CircleAlert, Clock } from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'
import { AnswerForm } from '#app/admin/disputes/[account_id]/[id]/answer-form.tsx'
import { ExactTime } from '#components/format/exact-time.tsx'
import { stateOf } from '#components/status/dispute-state.tsx'
import { Fact, Facts } from '#components/ui/facts.tsx'
import { Notice } from '#components/ui/notice.tsx'
import type { DisputeDetail } from '#lib/operator/disputes/schema.ts'

interface AnswerProps {
  dispute: DisputeDetail
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

function isBad(state: NonNullable<DisputeDetail['answer_state']>): boolean {
  return state === 'late' || state === 'refused' || state === 'unsent'
}

function SentAnswer({ dispute, text }: { dispute: DisputeDetail; text: string }) {
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
