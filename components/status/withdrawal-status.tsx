import { Check, Clock, type LucideIcon, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { WithdrawalStatus } from '#lib/rooms/withdrawals/states.ts'

export const WITHDRAWAL_LOOKS: Record<WithdrawalStatus, { tone: Tone; icon: LucideIcon }> = {
  pending: { tone: 'wait', icon: Clock },
  approved: { tone: 'ok', icon: Check },
  rejected: { tone: 'bad', icon: X },
}

export const STATUSES = Object.keys(WITHDRAWAL_LOOKS) as WithdrawalStatus[]

export function WithdrawalState({ status }: { status: WithdrawalStatus }) {
  const t = useTranslations('withdrawalStatus')
  return (
    <span data-testid="withdrawal-status">
      <Chip {...WITHDRAWAL_LOOKS[status]}>{t(status)}</Chip>
    </span>
  )
}
