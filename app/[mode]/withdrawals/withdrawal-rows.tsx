import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { AmountRows } from '#components/status/amount-rows.tsx'
import { useRejectionText } from '#components/status/problem-text.ts'
import { WithdrawalState } from '#components/status/withdrawal-state.tsx'
import { ROW_LINK, TWO_LINES } from '#components/ui/table.tsx'
import { maskPixKey, normalizePixKey } from '#lib/core/pix/pix-key.ts'
import type { RejectionFields } from '#lib/dashboard/schema.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface WithdrawalRowsProps {
  withdrawals: WithdrawalRow[]
}

export function WithdrawalRows({ withdrawals }: WithdrawalRowsProps) {
  const t = useTranslations('withdrawals')
  const rejectionText = useRejectionText()
  const rows = withdrawals.map(withdrawal => ({
    ...withdrawal,
    state: <WithdrawalState {...withdrawal} />,
    note: rejectionText({
      rejection_code: withdrawal.rejection_code as RejectionFields['rejection_code'],
      rejection_params: { text: withdrawal.rejection_reason ?? '' },
    }),
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
