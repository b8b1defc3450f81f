import { Check, Clock, type LucideIcon, Pause } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Chip, type Tone } from '#components/ui/chip.tsx'
import type { AccountStatus } from '#lib/accounts/schema.ts'

const STATUS_STYLES: Record<AccountStatus, { tone: Tone; icon: LucideIcon }> = {
  active: { tone: 'ok', icon: Check },
  pending: { tone: 'wait', icon: Clock },
  suspended: { tone: 'bad', icon: Pause },
}

export function AccountState({ status }: { status: AccountStatus }) {
  const t = useTranslations('accountStatus')
  return (
    <span data-testid="account-status">
      <Chip {...STATUS_STYLES[status]}>{t(status)}</Chip>
    </span>
  )
}
