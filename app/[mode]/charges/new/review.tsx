import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import type { ReactNode } from 'react'
import { Review, ReviewRow } from '#components/form/review.tsx'
import type { ChargeRequest } from '#lib/charges/schema.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'

interface ChargeReviewProps {
  body: ChargeRequest
  description: string
  isBusy: boolean
  onBack: () => void
  problem: ReactNode
}

export function ChargeReview({ body, description, ...rest }: ChargeReviewProps) {
  const t = useTranslations('newCharge')
  return (
    <Review
      {...rest}
      amountLabel={t('amount')}
      amount={body.amount}
      warning={t('reviewText')}
      icon={TriangleAlert}
      confirm={rest.isBusy ? t('busy') : t('confirm')}
    >
      <ReviewRow name={t('payer')}>
        <span className="block break-words font-semibold text-[19px] leading-snug">
          {body.client_name}
        </span>
        <span className="block text-muted text-small">{formatTaxId(body.client_doc)}</span>
        <span className="block break-all text-muted text-small">{body.client_email}</span>
      </ReviewRow>
      {description ? (
        <ReviewRow name={t('description')}>
          <span className="break-words">{description}</span>
        </ReviewRow>
      ) : null}
      {body.external_id ? (
        <ReviewRow name={t('external_id')}>
          <span className="break-all font-mono text-[14px]">{body.external_id}</span>
        </ReviewRow>
      ) : null}
    </Review>
  )
}
