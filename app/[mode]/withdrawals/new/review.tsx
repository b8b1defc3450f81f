import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Review, ReviewRow } from '#components/form/review.tsx'
import { Money } from '#components/format/format.tsx'
import type { Mode } from '#lib/core/mode.ts'
import { formatPixKey } from '#lib/core/pix/pix-key.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import { readPixKey, type WithdrawalRequest } from '#lib/withdrawals/schema.ts'

interface WithdrawalReviewProps {
  mode: Mode
  body: WithdrawalRequest
  available: number
  isBusy: boolean
  onBack: () => void
  problem: ReactNode
}

export function WithdrawalReview({ mode, body, available, ...rest }: WithdrawalReviewProps) {
  const t = useTranslations()
  const parsed = readPixKey(mode, body)
  if (!parsed.ok) return null
  return (
    <Review
      {...rest}
      amountLabel={t('withdrawals.amount')}
      amount={body.amount}
      warning={t('withdrawalRequest.final')}
      icon={TriangleAlert}
      confirm={rest.isBusy ? t('withdrawalRequest.sending') : t('withdrawalRequest.confirm')}
    >
      <ReviewRow name={t('withdrawalRequest.keyAsRead')}>
        <span className="block break-all font-semibold text-[19px] leading-snug">
          {formatPixKey(parsed.type, parsed.dictKey)}
        </span>
        <span className="text-muted text-small">{t(`pixKey.${parsed.type}`)}</span>
      </ReviewRow>
      {body.owner_doc ? (
        <ReviewRow name={t('withdrawals.owner')}>
          <span className="break-all font-semibold">{formatTaxId(body.owner_doc)}</span>
        </ReviewRow>
      ) : null}
      {body.external_id ? (
        <ReviewRow name={t('withdrawals.reference')}>
          <span className="break-all font-mono text-[14px]">{body.external_id}</span>
        </ReviewRow>
      ) : null}
      {body.amount <= available ? (
        <ReviewRow name={t('withdrawalRequest.after')}>
          <Money cents={available - body.amount} />
        </ReviewRow>
      ) : null}
    </Review>
  )
}
