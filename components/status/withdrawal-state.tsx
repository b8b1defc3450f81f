import { Check, Clock, Hourglass, type LucideIcon, Undo2, UserCheck, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { Awaited, WithdrawalStatus } from '#lib/withdrawals/states.ts'

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
  /** What a pending withdrawal waits for, if it is known. */
  awaiting?: Awaited | null
  amount?: number
  /** What the receiver's bank has sent back of the amount. */
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
