import {
  Ban,
  Check,
  CircleAlert,
  CircleX,
  Clock,
  Hourglass,
  type LucideIcon,
  RefreshCw,
  Send,
  TimerOff,
  TriangleAlert,
  Undo2,
  UserCheck,
  X,
} from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { DisputeBasics } from '#lib/charges/disputes/schema.ts'
import { DUE_SOON_HOURS, type ShownChargeStatus } from '#lib/charges/states.ts'
import type { Level } from '#lib/operator/schema.ts'
import type { TokenStatus } from '#lib/tokens/schema.ts'
import type { Awaited, WithdrawalStatus } from '#lib/withdrawals/states.ts'

export const CHARGE_STATUS_STYLES: Record<ShownChargeStatus, { tone: Tone; icon: LucideIcon }> = {
  pending: { tone: 'wait', icon: Clock },
  paid: { tone: 'ok', icon: Check },
  partly_refunded: { tone: 'off', icon: Undo2 },
  refunded: { tone: 'off', icon: Undo2 },
  expired: { tone: 'off', icon: TimerOff },
  cancelled: { tone: 'off', icon: Ban },
  failed: { tone: 'bad', icon: X },
}

export function ChargeStateChip({ status }: { status: ShownChargeStatus }) {
  const t = useTranslations('chargeStatus')
  return <Chip {...CHARGE_STATUS_STYLES[status]}>{t(status)}</Chip>
}

const TOKEN_STATUS_STYLES: Record<TokenStatus, { tone: Tone; icon: LucideIcon }> = {
  active: { tone: 'ok', icon: Check },
  expiring: { tone: 'wait', icon: Clock },
  replaced: { tone: 'wait', icon: RefreshCw },
  expired: { tone: 'off', icon: CircleX },
  revoked: { tone: 'off', icon: Ban },
}

export function TokenState({ status }: { status: TokenStatus }) {
  const t = useTranslations('tokens')
  return <Chip {...TOKEN_STATUS_STYLES[status]}>{t(`status.${status}`)}</Chip>
}

export const WITHDRAWAL_STATUS_STYLES: Record<WithdrawalStatus, { tone: Tone; icon: LucideIcon }> =
  {
    pending: { tone: 'wait', icon: Clock },
    approved: { tone: 'ok', icon: Check },
    rejected: { tone: 'bad', icon: X },
  }

export const AWAITED_ICONS: Record<Awaited, LucideIcon> = {
  approval: UserCheck,
  balance_window: Hourglass,
  bank: Clock,
}

interface WithdrawalStateProps {
  status: WithdrawalStatus
  /** Reason why a withdrawal is pending; null or absent: unknown. */
  awaiting?: Awaited | null
  amount?: number
  /** Cents that the receiver's bank has returned. */
  returned_amount?: number
}

export function WithdrawalState(props: WithdrawalStateProps) {
  const t = useTranslations('withdrawalStatus')
  const { status, awaiting, amount, returned_amount: returned = 0 } = props
  return (
    <span data-testid="withdrawal-status">
      {awaiting ? (
        <Chip tone="wait" icon={AWAITED_ICONS[awaiting]}>
          {t(`awaiting.${awaiting}`)}
        </Chip>
      ) : returned > 0 ? (
        <Chip tone="off" icon={Undo2}>
          {t(returned === amount ? 'returned.all' : 'returned.part')}
        </Chip>
      ) : (
        <Chip {...WITHDRAWAL_STATUS_STYLES[status]}>{t(status)}</Chip>
      )}
    </span>
  )
}

export const LEVEL_STYLES: Record<Level, { tone: Tone; icon: LucideIcon }> = {
  ok: { tone: 'ok', icon: Check },
  warning: { tone: 'wait', icon: TriangleAlert },
  problem: { tone: 'bad', icon: CircleAlert },
}

const DISPUTE_STYLES = {
  open: { tone: 'wait', icon: Clock },
  pending: { tone: 'wait', icon: Send },
  taken: { tone: 'ok', icon: Check },
  late: { tone: 'bad', icon: TimerOff },
  won: { tone: 'ok', icon: Check },
  lost: { tone: 'bad', icon: X },
} satisfies Record<string, { tone: Tone; icon: LucideIcon }>

type State = keyof typeof DISPUTE_STYLES

/** Returns the end of a dispute, else the state of its defense. */
export function stateOf({ status, answer_state: answer }: DisputeBasics): State {
  if (status !== 'open') return status
  return answer === 'pending' || answer === 'taken' || answer === 'late' ? answer : 'open'
}

export function DisputeState({ dispute }: { dispute: DisputeBasics }) {
  const t = useTranslations('disputes')
  const state = stateOf(dispute)
  return <Chip {...DISPUTE_STYLES[state]}>{t(`state.${state}`)}</Chip>
}

const URGENT_MS = DUE_SOON_HOURS * 3_600_000

/** Time left for the defense, marked while one is missing and little is left. */
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
