import { Check, Clock, type LucideIcon, Send, TimerOff, X } from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { DisputeBasics } from '#lib/dashboard/disputes/schema.ts'
import { DUE_SOON_HOURS } from '#lib/dashboard/disputes/states.ts'

const STYLES = {
  open: { tone: 'wait', icon: Clock },
  pending: { tone: 'wait', icon: Send },
  taken: { tone: 'ok', icon: Check },
  late: { tone: 'bad', icon: TimerOff },
  won: { tone: 'ok', icon: Check },
  lost: { tone: 'bad', icon: X },
} satisfies Record<string, { tone: Tone; icon: LucideIcon }>

type State = keyof typeof STYLES

/** Returns the end of a dispute, else the state of its defence. */
export function stateOf({ status, answer_state: answer }: DisputeBasics): State {
  if (status !== 'open') return status
  return answer === 'pending' || answer === 'taken' || answer === 'late' ? answer : 'open'
}

export function DisputeState({ dispute }: { dispute: DisputeBasics }) {
  const t = useTranslations('disputes')
  const state = stateOf(dispute)
  return <Chip {...STYLES[state]}>{t(`state.${state}`)}</Chip>
}

const URGENT_MS = DUE_SOON_HOURS * 3_600_000

/** Time left for the defence, marked while one is missing and little is left. */
export function Deadline({ dispute }: { dispute: DisputeBasics }) {
  const t = useTranslations('disputes')
  const now = useNow({ updateInterval: 30_000 })
  const { respond_by: at } = dispute
  if (at === null) return <span className="text-muted">{t('noDeadline')}</span>
  const isUrgent = stateOf(dispute) === 'open' && Date.parse(at) - now.getTime() < URGENT_MS
  return (
    <span className={isUrgent ? 'font-semibold text-bad' : ''}>
      <RelativeTime at={at} />
    </span>
  )
}
