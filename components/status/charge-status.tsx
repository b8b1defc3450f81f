import { Check, Clock, type LucideIcon, TimerOff, X } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { ChargeStatus } from '#lib/rooms/charges/states.ts'

export const CHARGE_LOOKS: Record<ChargeStatus, { tone: Tone; icon: LucideIcon }> = {
  pending: { tone: 'wait', icon: Clock },
  paid: { tone: 'ok', icon: Check },
  expired: { tone: 'off', icon: TimerOff },
  failed: { tone: 'bad', icon: X },
}

export function ChargeState({ status }: { status: ChargeStatus }) {
  const t = useTranslations('chargeStatus')
  return <Chip {...CHARGE_LOOKS[status]}>{t(status)}</Chip>
}
