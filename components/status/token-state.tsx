import { Ban, Check, CircleX, Clock, type LucideIcon, RefreshCw } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { TokenStatus } from '#lib/rooms/tokens/schema.ts'

const LOOKS: Record<TokenStatus, { tone: Tone; icon: LucideIcon }> = {
  active: { tone: 'ok', icon: Check },
  expiring: { tone: 'wait', icon: Clock },
  replaced: { tone: 'wait', icon: RefreshCw },
  expired: { tone: 'off', icon: CircleX },
  revoked: { tone: 'off', icon: Ban },
}

export function TokenState({ status }: { status: TokenStatus }) {
  const t = useTranslations('tokens')
  return <Chip {...LOOKS[status]}>{t(`status.${status}`)}</Chip>
}
