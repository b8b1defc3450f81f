import {
  Ban,
  Check,
  CircleX,
  Clock,
  type LucideIcon,
  RefreshCw,
  TimerOff,
  Undo2,
  X,
} from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { ShownChargeStatus } from '#lib/charges/states.ts'
import type { TokenStatus } from '#lib/tokens/schema.ts'

export const CHARGE_STATUS_STYLES: Record<ShownChargeStatus, { tone: Tone; icon: LucideIcon }> = {
  pending: { tone: 'wait', icon: Clock },
  paid: { tone: 'ok', icon: Check },
  partly_refunded: { tone: 'off', icon: Undo2 },
  refunded: { tone: 'off', icon: Undo2 },
  expired: { tone: 'off', icon: TimerOff },
  cancelled: { tone: 'off', icon: Ban },
  failed: { tone: 'bad', icon: X },
}

export function ChargeState({ status }: { status: ShownChargeStatus }) {
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
