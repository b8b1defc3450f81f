import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { WithdrawalState } from '#components/status/state-chips.tsx'
import { AmountRows } from '#components/ui/amount-rows.tsx'
import { ROW_LINK } from '#components/ui/table.tsx'
import { maskPixKey, normalizePixKey } from '#lib/base/pix/pix-key.ts'
import type { WithdrawalRow } from '#lib/rooms/withdrawals/schema.ts'

/** Withdrawals by where they go. */
export function WithdrawalRows({ withdrawals }: { withdrawals: WithdrawalRow[] }) {
  const t = useTranslations('withdrawals')
  const rows = withdrawals.map(withdrawal => ({
    ...withdrawal,
    state: <WithdrawalState status={withdrawal.status} />,
    subject: <Target withdrawal={withdrawal} />,
  }))
  const heads = {
    subject: t('key'),
    reference: t('reference'),
    status: t('status'),
    created: t('created'),
    amount: t('amount'),
  }
  return <AmountRows label={t('title')} heads={heads} rows={rows} />
}

/** Where it goes, as far as a list may show it; it leads to the withdrawal. */
function Target({ withdrawal }: { withdrawal: WithdrawalRow }) {
  const t = useTranslations('pixKey')
  const { id, mode, pix_key_type: type, pix_key } = withdrawal
  const read = normalizePixKey(type, pix_key, 'form')
  return (
    <Link href={`/${mode}/withdrawals/${id}`} prefetch={false} className={`block ${ROW_LINK}`}>
      <span className="block truncate">{maskPixKey(type, read.ok ? read.key : pix_key)}</span>
      <span className="block font-normal text-muted text-small">{t(type)}</span>
    </Link>
  )
}
