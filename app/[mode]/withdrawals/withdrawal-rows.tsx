import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { WithdrawalState } from '#components/status/withdrawal-state.tsx'
import { AmountRows } from '#components/ui/amount-rows.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { maskPixKey, normalizePixKey } from '#lib/base/pix/pix-key.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'
import type { WaitingWithdrawal } from '#lib/views/dashboard/schema.ts'

interface WithdrawalRowsProps {
  withdrawals: WithdrawalRow[]
  waiting: WaitingWithdrawal[]
}

export function WithdrawalRows({ withdrawals, waiting }: WithdrawalRowsProps) {
  const t = useTranslations('withdrawals')
  const waitingIds = new Set(waiting.map(({ id }) => id))
  const rows = withdrawals.map(withdrawal => ({
    ...withdrawal,
    state: <WithdrawalState status={withdrawal.status} isWaiting={waitingIds.has(withdrawal.id)} />,
    subject: <PixKeyLink withdrawal={withdrawal} />,
  }))
  const heads = {
    subject: t('key'),
    reference: t('reference'),
    status: t('status'),
    created: t('created'),
    amount: t('amount'),
  }
  return <AmountRows label={t('title')} heads={heads} statusWidth="216px" rows={rows} />
}

function PixKeyLink({ withdrawal }: { withdrawal: WithdrawalRow }) {
  const t = useTranslations('pixKey')
  const { id, mode, pix_key_type: type, pix_key } = withdrawal
  const normalized = normalizePixKey(type, pix_key, 'form')
  return (
    <Link href={`/${mode}/withdrawals/${id}`} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className={TWO_LINES}>
        {maskPixKey(type, normalized.ok ? normalized.key : pix_key)}
      </span>
      <span className="block font-normal text-muted text-small">{t(type)}</span>
    </Link>
  )
}
