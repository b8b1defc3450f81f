'use client'

import {
  ArrowUpRight,
  BookOpen,
  Check,
  Clock as ClockIcon,
  type LucideIcon,
  Plus,
  RefreshCw,
  Undo2,
  Webhook,
  X,
} from 'lucide-react'
import { useTranslations } from 'next-intl'
import { ExactTime } from '#components/format/exact-time.tsx'
import { Money } from '#components/format/format.tsx'
import { useDeliveryProblem, useRejection } from '#components/status/problem-text.ts'
import type { Tone } from '#components/ui/chip.tsx'
import { Step, Timeline } from '#components/ui/timeline.tsx'
import type { WithdrawalStep, WithdrawalTimelineData } from '#lib/views/dashboard/schema.ts'

/** Past steps, oldest first; a pending withdrawal ends with what it waits for. */
export function WithdrawalSteps({ story }: { story: WithdrawalTimelineData }) {
  const t = useTranslations('withdrawal')
  const { withdrawal, steps } = story
  return (
    <>
      <h2 className="mb-5 text-title">{t('history')}</h2>
      <Timeline label={t('history')}>
        {steps.map((step, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
          <OneStep key={at} step={step} amount={withdrawal.amount} />
        ))}
        {withdrawal.status === 'pending' ? (
          <Step tone="wait" icon={ClockIcon} title={t('waiting')} aside={t('now')}>
            {t('waitingText')}
          </Step>
        ) : null}
      </Timeline>
    </>
  )
}

const LOOKS: Record<Exclude<WithdrawalStep['what'], 'call' | 'told'>, [Tone, LucideIcon]> = {
  requested: ['off', Plus],
  held: ['off', BookOpen],
  sent: ['off', ArrowUpRight],
  asked_again: ['off', RefreshCw],
  approved: ['ok', Check],
  rejected: ['bad', X],
  returned: ['ok', Undo2],
}

function OneStep({ step, amount }: { step: WithdrawalStep; amount: number }) {
  const t = useTranslations('withdrawal')
  const rejection = useRejection()
  if (step.what === 'call') return <CallStep step={step} />
  if (step.what === 'told') return <ToldStep step={step} />
  const [tone, icon] = LOOKS[step.what]
  const aside = step.at ? <ExactTime at={step.at} look="dated" /> : null
  const times = step.what === 'asked_again' ? step.times : 0
  return (
    <Step tone={tone} icon={icon} title={t(`step.${step.what}`, { times })} aside={aside}>
      {step.what === 'held' || step.what === 'returned'
        ? t.rich(`balance.${step.what}`, {
            amount: () => <Money cents={amount} />,
            balance: () => <Money cents={step.balance_after} />,
          })
        : step.what === 'rejected'
          ? rejection(step)
          : step.what === 'sent'
            ? t('sentText')
            : null}
    </Step>
  )
}

type Call = Extract<WithdrawalStep, { what: 'call' }>

const OUTCOMES: Record<NonNullable<Call['outcome']>, Tone> = {
  ok: 'ok',
  rejected: 'bad',
  retryable: 'wait',
  unknown: 'wait',
}

/** One call to the bank, from the gateway's journal. */
function CallStep({ step }: { step: Call }) {
  const t = useTranslations('withdrawal')
  const { operation, outcome, said, said_code, times } = step
  const isSending = operation === 'sendPayout'
  const known = said === 'taken' || said === 'done' || said === 'refused' ? said : null
  const answer =
    outcome === null
      ? t('call.open')
      : outcome === 'ok'
        ? t(`call.${known ?? 'none'}`)
        : t(`call.${outcome}`, { reason: said_code ? t('call.timedOut') : (said ?? '—') })
  return (
    <Step
      tone={outcome ? OUTCOMES[outcome] : 'off'}
      icon={isSending ? ArrowUpRight : RefreshCw}
      title={isSending ? t('call.send') : t('call.ask')}
      aside={<ExactTime at={step.at} look="dated" />}
    >
      {answer}
      {times > 1 ? (
        <>
          {' · '}
          {t('call.times', { times })} <ExactTime at={step.last_at} look="dated" />
        </>
      ) : null}
    </Step>
  )
}

function ToldStep({ step }: { step: Extract<WithdrawalStep, { what: 'told' }> }) {
  const t = useTranslations('withdrawal')
  const { brief } = useDeliveryProblem()
  const { host, number, problem, response_status: status } = step
  const title = problem === null ? t('told.delivered') : t('told.failed')
  return (
    <Step
      tone={problem === null ? 'ok' : 'bad'}
      icon={Webhook}
      title={title}
      aside={<ExactTime at={step.at} look="dated" />}
    >
      {t('told.try', { host, number })} · {status ?? brief(step)}
    </Step>
  )
}
