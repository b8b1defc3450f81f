import {
  ArrowLeftRight,
  Banknote,
  Bell,
  Landmark,
  type LucideIcon,
  Send,
  Undo2,
  Webhook,
} from 'lucide-react'
import Link from 'next/link'
import { useLocale, useTranslations } from 'next-intl'
import { callDurationText, ExactTime } from '#components/format/format.tsx'
import type { Tone } from '#components/ui/chip.tsx'
import { Timeline, TimelineStep } from '#components/ui/details.tsx'
import { isGood, type Trace, type TraceStep } from '#lib/dashboard/schema.ts'

const ICONS: Record<TraceStep['what'], LucideIcon> = {
  request: ArrowLeftRight,
  charge: Banknote,
  withdrawal: Banknote,
  refund: Undo2,
  bank_call: Landmark,
  event: Bell,
  delivery: Webhook,
  attempt: Send,
}

interface TraceStepsProps {
  trace: Trace
  /** The request whose page shows the trace: its steps need not name it. */
  requestId?: string
  /** Address of a step's page; null: it has none. */
  hrefOf: (step: TraceStep) => string | null
}

/** Shows what happened, oldest first, each step with its time, duration and cause. */
export function TraceSteps({ trace, requestId, hrefOf }: TraceStepsProps) {
  const t = useTranslations('trace')
  return (
    <Timeline label={t('title')} hasDates>
      {trace.steps.map(step => (
        <TraceStepRow
          key={`${step.what} ${step.id} ${step.name}`}
          step={step}
          requestId={requestId}
          hrefOf={hrefOf}
        />
      ))}
    </Timeline>
  )
}

/** Steps whose outcome is the status that their row has when the page is shown. */
const ROWS: TraceStep['what'][] = ['charge', 'withdrawal', 'refund', 'delivery']

type TraceStepRowProps = { step: TraceStep } & Omit<TraceStepsProps, 'trace'>

function TraceStepRow({ step, requestId, hrefOf }: TraceStepRowProps) {
  const t = useTranslations('trace')
  const locale = useLocale()
  const { what, at, name, outcome, duration_ms, request_id } = step
  const good = isGood(step)
  const tone: Tone = good === null ? 'off' : good ? 'ok' : 'bad'
  const href = hrefOf(step)
  const shownOutcome = outcome && ROWS.includes(what) ? t('status', { status: outcome }) : outcome
  const duration = duration_ms === null ? null : callDurationText(duration_ms, locale)
  return (
    <TimelineStep
      tone={tone}
      icon={ICONS[what]}
      title={
        href ? (
          <Link href={href} prefetch={false} className="text-accent hover:underline">
            {t(`what.${what}`)}
          </Link>
        ) : (
          t(`what.${what}`)
        )
      }
      aside={<ExactTime at={at} format="millisecond" />}
    >
      <p className="wrap-anywhere font-mono text-[12.5px]">
        {[name, shownOutcome, duration].filter(fact => fact !== null).join(' · ')}
      </p>
      {request_id && request_id !== requestId ? (
        <p className="wrap-anywhere">
          {t(what === 'request' ? 'requestId' : 'causedBy', { id: request_id })}
        </p>
      ) : null}
    </TimelineStep>
  )
}
