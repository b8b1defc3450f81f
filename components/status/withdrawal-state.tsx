import { Check, Clock, type LucideIcon, UserCheck, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { WithdrawalStatus } from '#lib/rooms/withdrawals/states.ts'

export const WITHDRAWAL_STATUS_STYLES: Record<WithdrawalStatus, { tone: Tone; icon: LucideIcon }> =
  {
    pending: { tone: 'wait', icon: Clock },
    approved: { tone: 'ok', icon: Check },
    rejected: { tone: 'bad', icon: X },
  }

interface WithdrawalStateProps {
  status: WithdrawalStatus
  /** Whether it waits for the approval of a second member. */
  isWaiting?: boolean
}

export function WithdrawalState({ status, isWaiting = false }: WithdrawalStateProps) {
  const t = useTranslations('withdrawalStatus')
  return (
    <span data-testid="withdrawal-status">
      {isWaiting ? (
        <Chip tone="wait" icon={UserCheck}>
          {t('waiting')}
        </Chip>
      ) : (
        <Chip {...WITHDRAWAL_STATUS_STYLES[status]}>{t(status)}</Chip>
      )}
    </span>
  )
}
