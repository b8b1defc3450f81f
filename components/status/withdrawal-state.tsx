import { Check, Clock, Hourglass, type LucideIcon, UserCheck, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { Awaited, WithdrawalStatus } from '#lib/rooms/withdrawals/states.ts'

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
}

export function WithdrawalState({ status, awaiting }: WithdrawalStateProps) {
  const t = useTranslations('withdrawalStatus')
  return (
    <span data-testid="withdrawal-status">
      {awaiting ? (
        <Chip tone="wait" icon={AWAITED_ICONS[awaiting]}>
          {t(`awaiting.${awaiting}`)}
        </Chip>
      ) : (
        <Chip {...WITHDRAWAL_STATUS_STYLES[status]}>{t(status)}</Chip>
      )}
    </span>
  )
}
