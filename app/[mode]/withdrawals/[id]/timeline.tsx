'use client'

import {
  ArrowUpRight,
  BookOpen,
  Check,
  type LucideIcon,
  Plus,
  RefreshCw,
  Undo2,
  UserCheck,
  Webhook,
  X,
} from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useDeliveryProblem, useRejectionText } from '#components/api/problem.tsx'
import { ExactTime, Money } from '#components/format/format.tsx'
import { AWAITED_ICONS } from '#components/status/state-chips.tsx'
import type { Tone } from '#components/ui/chip.tsx'
import { Timeline, TimelineStep } from '#components/ui/details.tsx'
import type { WithdrawalStep, WithdrawalTimelineData } from '#lib/dashboard/schema.ts'

/** Past steps, oldest first; while the withdrawal is pending, a last step says what it waits for. */
export function WithdrawalTimeline({ timeline }: { timeline: WithdrawalTimelineData }) {
  const t = useTranslations()
  const { withdrawal, approval } = timeline
  return (
    <>
      <h2 className="mb-5 text-title">{t('withdrawal.history')}</h2>
      <Timeline label={t('withdrawal.history')} hasDates>
        {stepsToShow(timeline).map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
          <WithdrawalTimelineStep key={index} step={step} amount={withdrawal.amount} />
        ))}
        {withdrawal.awaiting ? (
          <TimelineStep
            tone="wait"
            icon={AWAITED_ICONS[withdrawal.awaiting]}
            title={t(`withdrawalStatus.awaiting.${withdrawal.awaiting}`)}
            aside={t('withdrawal.now')}
          >
            {t.rich(`withdrawal.awaiting.${withdrawal.awaiting}`, {
              time: () => approval && <ExactTime at={approval.expires_at} format="dated" />,
            })}
          </TimelineStep>
        ) : null}
      </Timeline>
    </>
  )
}

const QUICK_MS = 60_000

/** Of a withdrawal that the bank ended within a minute, questions about its state say nothing. */
function stepsToShow({ withdrawal, steps }: WithdrawalTimelineData): WithdrawalStep[] {
  const endedAt = withdrawal.approved_at ?? withdrawal.rejected_at
  const firstCall = steps.find(step => step.what === 'call')
  const isQuick = firstCall && endedAt && Date.parse(endedAt) - Date.parse(firstCall.at) < QUICK_MS
  return isQuick
    ? steps.filter(step => step.what !== 'call' || step.operation === 'sendPayout')
    : steps
}

const STEP_STYLES: Record<Exclude<WithdrawalStep['what'], 'call' | 'told'>, [Tone, LucideIcon]> = {
  requested: ['off', Plus],
  held: ['off', BookOpen],
  approval_needed: ['off', UserCheck],
  approval_given: ['ok', UserCheck],
  sent: ['off', ArrowUpRight],
  approved: ['ok', Check],
  ended_sent: ['ok', Check],
  rejected: ['bad', X],
  returned: ['ok', Undo2],
  sent_back: ['ok', Undo2],
}

function WithdrawalTimelineStep({ step, amount }: { step: WithdrawalStep; amount: number }) {
  const t = useTranslations('withdrawal')
  if (step.what === 'call') return <CallStep step={step} />
  if (step.what === 'told') return <DeliveryStep step={step} />
  const [tone, icon] = STEP_STYLES[step.what]
  return (
    <TimelineStep
      tone={tone}
      icon={icon}
      title={t(`step.${titleOf(step)}`)}
      aside={<ExactTime at={step.at} format="dated" />}
    >
      <StepText step={step} amount={amount} />
    </TimelineStep>
  )
}

type PlainStep = Exclude<WithdrawalStep, { what: 'call' | 'told' }>

function StepText({ step, amount }: { step: PlainStep; amount: number }) {
  const t = useTranslations('withdrawal')
  const rejectionText = useRejectionText()
  switch (step.what) {
    case 'held':
    case 'returned':
    case 'sent_back':
      return t.rich(`balance.${step.what}`, {
        amount: () => <Money cents={step.what === 'sent_back' ? step.amount : amount} />,
        balance: () => <Money cents={step.balance_after} />,
      })
    case 'rejected':
      return rejectionText(step)
    case 'sent':
      return t('sentText')
    case 'ended_sent':
      return t('endedSentText')
    case 'approval_needed':
      return t(`neededFor.${step.reason}`)
    case 'approval_given':
      return step.by
    default:
      return null
  }
}

/** A rejection is not always the bank's. */
function titleOf(step: PlainStep) {
  if (step.what !== 'rejected') return step.what
  if (step.rejection_code?.startsWith('approval_')) return 'not_approved'
  return step.rejection_code === 'ended_unsent' ? 'ended_unsent' : 'rejected'
}

type BankCall = Extract<WithdrawalStep, { what: 'call' }>

const OUTCOME_TONES: Record<NonNullable<BankCall['outcome']>, Tone> = {
  ok: 'ok',
  rejected: 'bad',
  retryable: 'wait',
  unknown: 'wait',
}

function CallStep({ step }: { step: BankCall }) {
  const t = useTranslations('withdrawal')
  const rejectionText = useRejectionText()
  const { operation, outcome, said, rejection_code, times } = step
  const isSending = operation === 'sendPayout'
  const reason = rejectionText({ rejection_code, rejection_params: {} }) ?? ''
  const outcomeText =
    outcome === null
      ? t('call.open')
      : outcome === 'ok'
        ? t(`call.${said ?? 'none'}`)
        : t(`call.${outcome}`, { reason })
  return (
    <TimelineStep
      tone={outcome ? OUTCOME_TONES[outcome] : 'off'}
      icon={isSending ? ArrowUpRight : RefreshCw}
      title={isSending ? t('call.send') : t('call.ask')}
      aside={<ExactTime at={step.at} format="dated" />}
    >
      {outcomeText}
      {times > 1 ? (
        <>
          {' · '}
          {t('call.times', { times })} <ExactTime at={step.last_at} format="dated" />
        </>
      ) : null}
    </TimelineStep>
  )
}

function DeliveryStep({ step }: { step: Extract<WithdrawalStep, { what: 'told' }> }) {
  const t = useTranslations('withdrawal')
  const { brief } = useDeliveryProblem()
  const { host, number, problem, response_status: status } = step
  return (
    <TimelineStep
      tone={problem === null ? 'ok' : 'bad'}
      icon={Webhook}
      title={t(problem === null ? 'told.delivered' : 'told.failed')}
      aside={<ExactTime at={step.at} format="dated" />}
    >
      {t('told.try', { host, number })} · {status ?? brief(step)}
    </TimelineStep>
  )
}
