'use client'

import { CircleAlert, Clock } from 'lucide-react'
import Link from 'next/link'
import { useRouter } from 'next/navigation'
import { useNow, useTranslations } from 'next-intl'
import { type ReactNode, useState } from 'react'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { SentEvidence } from '#components/status/evidence.tsx'
import { Deadline, stateOf } from '#components/status/state-chips.tsx'
import { Button } from '#components/ui/button.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { TextArea } from '#components/ui/field.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import { ANSWER_MAX } from '#lib/charges/disputes/schema.ts'
import {
  answerRequest,
  type DisputeEvidence,
  type DisputeWithEvidence,
} from '#lib/operator/schema.ts'

export function DisputeFacts({ dispute }: { dispute: DisputeWithEvidence }) {
  const t = useTranslations('disputes')
  const { account, respond_by: respondBy, closed_at: closedAt, lost_amount: lost } = dispute
  return (
    <Facts>
      <Fact name={t('account')}>
        <Link
          href={`/admin/accounts/${account.id}`}
          prefetch={false}
          className="font-semibold underline"
        >
          {account.name}
        </Link>
      </Fact>
      <Fact name={t('opened')}>
        <ExactTime at={dispute.created_at} format="dated" />
      </Fact>
      <Fact name={t('deadline')}>
        <Deadline dispute={dispute} />
        {respondBy ? (
          <span className="text-muted">
            {' · '}
            <ExactTime at={respondBy} format="dated" />
          </span>
        ) : null}
      </Fact>
      {closedAt ? (
        <Fact name={t('closed')}>
          <ExactTime at={closedAt} format="dated" />
        </Fact>
      ) : null}
      {lost === null ? null : (
        <Fact name={t('returned')}>
          <Money cents={lost} />
        </Fact>
      )}
      <Fact name={t('bank')}>{dispute.connection}</Fact>
      <Fact name={t('bankId')}>
        <CopyValue name={t('bankId')} value={dispute.bank_id} />
      </Fact>
    </Facts>
  )
}

export function Evidence({ evidence }: { evidence: DisputeEvidence }) {
  const t = useTranslations('disputes')
  const { viewed_at: viewedAt, attempts, refunds } = evidence
  return (
    <Facts>
      <Fact name={t('created')}>
        <ExactTime at={evidence.created_at} format="dated" />
      </Fact>
      <Fact name={t('viewed')}>
        {viewedAt ? <ExactTime at={viewedAt} format="dated" /> : t('notViewed')}
      </Fact>
      <Fact name={t('paid')}>
        <ExactTime at={evidence.paid_at} format="dated" />
      </Fact>
      <Fact name={t('charged')}>
        <Money cents={evidence.charged} />
      </Fact>
      <Fact name={t('payer')}>{evidence.payer}</Fact>
      <Fact name={t('reference')}>
        <span className="break-all">{evidence.reference}</span>
      </Fact>
      <Fact name={t('charge')}>
        <CopyValue name={t('charge')} value={evidence.charge_id} />
      </Fact>
      <Fact name={t('endToEnd')}>
        <CopyValue name={t('endToEnd')} value={evidence.end_to_end_id} />
      </Fact>
      <Fact name={t('attempts')}>
        <Lines none={t('noAttempts')}>
          {attempts.map(({ at, type, host, response_status: status }) => (
            <li key={`${at} ${type} ${host}`} className="break-words">
              <ExactTime at={at} format="dated" /> · <code className="text-small">{type}</code> ·{' '}
              {host} · {status === null ? t('noResponse') : t('httpStatus', { status })}
            </li>
          ))}
        </Lines>
      </Fact>
      <Fact name={t('refunds')}>
        <Lines none={t('noRefunds')}>
          {refunds.map(({ at, amount, status }) => (
            <li key={`${at} ${amount}`}>
              <ExactTime at={at} format="dated" /> · <Money cents={amount} /> ·{' '}
              {t(`refundStatus.${status}`)}
            </li>
          ))}
        </Lines>
      </Fact>
    </Facts>
  )
}

function Lines({ none, children }: { none: string; children: ReactNode[] }) {
  if (children.length === 0) return <span className="text-muted">{none}</span>
  return <ul className="grid gap-1.5">{children}</ul>
}

export function MerchantEvidence({ dispute }: { dispute: DisputeWithEvidence }) {
  const t = useTranslations('disputes')
  const api = useApi()
  const { account, id: dispute_id, sent_evidence: sent } = dispute
  if (sent.length === 0) return <p className="mt-1 text-muted text-small">{t('noEvidence')}</p>
  return (
    <SentEvidence
      evidence={sent}
      read={evidence_id =>
        api.fetchRaw('/admin/accounts/[id]/disputes/[dispute_id]/evidence/[evidence_id]', {
          params: { id: account.id, dispute_id, evidence_id },
        })
      }
    />
  )
}

interface AnswerProps {
  dispute: DisputeWithEvidence
  draft: string
  /** The draft in the reader's language; null if that is the bank's. */
  translation: string | null
}

export function Answer({ dispute, draft, translation }: AnswerProps) {
  const t = useTranslations('disputes')
  const api = useApi()
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
            send={body =>
              api.post('/admin/accounts/[id]/disputes/[dispute_id]/answer', {
                params: { id: dispute.account.id, dispute_id: dispute.id },
                body,
              })
            }
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

/** The text of the defense, which is sent once it has been confirmed. */
function AnswerForm({ send, text }: Omit<ConfirmationProps, 'onClose'>) {
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
        <Confirmation send={send} text={confirmed} onClose={() => setConfirmed(null)} />
      )}
    </>
  )
}

interface ConfirmationProps {
  send: (body: { text: string }) => Promise<unknown>
  text: string
  onClose: () => void
}

function Confirmation({ send, text, onClose }: ConfirmationProps) {
  const t = useTranslations('disputes')
  const _api = useApi()
  const router = useRouter()
  const form = useForm({
    schema: answerRequest,
    read: () => ({ text }),
    send: async body => {
      await send(body)
      router.refresh()
      onClose()
    },
  })
  return (
    <Dialog onClose={onClose} title={t('confirmTitle')} description={t('confirmText')}>
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
