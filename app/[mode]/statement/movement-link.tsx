import {
  ArrowDownLeft,
  ArrowUpRight,
  CornerUpLeft,
  type LucideIcon,
  ShieldAlert,
  Undo2,
} from 'lucide-react'
import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { maskPixKey } from '#lib/core/pix/pix-key.ts'
import type { StatementRow } from '#lib/dashboard/schema.ts'

const ICONS: Record<StatementRow['kind'], LucideIcon> = {
  charge_paid: ArrowDownLeft,
  withdrawal_held: ArrowUpRight,
  withdrawal_returned: Undo2,
  payout_returned: Undo2,
  unmatched_credited: ArrowDownLeft,
  refund_held: CornerUpLeft,
  dispute_held: ShieldAlert,
  dispute_won: Undo2,
  owed_repaid: ShieldAlert,
  refund_returned: Undo2,
}

interface MovementLinkProps {
  row: StatementRow
  mode: Mode
}

export function MovementLink({ row, mode }: MovementLinkProps) {
  const t = useTranslations('statement')
  const { kind, charge_id, withdrawal_id, client_name, pix_key_type, dict_key } = row
  const Icon = ICONS[kind]
  const path = charge_id ? `charges/${charge_id}` : withdrawal_id && `withdrawals/${withdrawal_id}`
  const key = pix_key_type && dict_key ? maskPixKey(pix_key_type, dict_key) : null
  const tone = row.amount > 0 ? 'bg-ok-soft text-ok' : 'bg-off-soft text-off'
  return (
    <span className="flex min-w-0 items-center gap-3">
      <span
        aria-hidden
        className={`grid size-[23px] shrink-0 place-items-center rounded-chip ${tone}`}
      >
        <Icon size={13} strokeWidth={2.2} />
      </span>
      <span className="min-w-0">
        {path ? (
          <Link
            href={`/${mode}/${path}`}
            prefetch={false}
            className={`block font-medium ${ROW_LINK}`}
          >
            {t(`kind.${kind}`)}
          </Link>
        ) : (
          <span className="block font-medium">{t(`kind.${kind}`)}</span>
        )}
        <span className={`text-muted text-small ${TWO_LINES}`}>{client_name ?? key}</span>
      </span>
    </span>
  )
}
