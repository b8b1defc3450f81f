import { TriangleAlert } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type ReactNode, useEffect, useRef } from 'react'
import { HeroMoney, Money } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Notice } from '#components/ui/notice.tsx'
import type { Mode } from '#lib/base/mode.ts'
import { formatPixKey } from '#lib/base/pix/format-key.ts'
import { formatTaxId } from '#lib/base/pix/tax-id.ts'
import { readPixKey, type WithdrawalRequest } from '#lib/rooms/withdrawals/schema.ts'

interface ReviewProps {
  mode: Mode
  body: WithdrawalRequest
  available: number
  isBusy: boolean
  onBack: () => void
  /** Why the server refused, above the buttons, where a phone shows it. */
  problem: ReactNode
}

export function Review({ mode, body, available, isBusy, onBack, problem }: ReviewProps) {
  const t = useTranslations()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  const parsed = readPixKey(mode, body)
  if (!parsed.ok) return null
  return (
    <section aria-labelledby="review" className="grid grid-cols-[minmax(0,1fr)] gap-5">
      <h2 id="review" ref={title} tabIndex={-1} className="text-title outline-none">
        {t('withdrawalRequest.review')}
      </h2>
      <dl className="grid gap-4">
        <DetailRow name={t('withdrawals.amount')}>
          <span className="text-[34px] leading-tight">
            <HeroMoney cents={body.amount} testId="amount" />
          </span>
        </DetailRow>
        <DetailRow name={t('withdrawalRequest.keyAsRead')}>
          <span className="block break-all font-semibold text-[19px] leading-snug">
            {formatPixKey(parsed.type, parsed.dictKey)}
          </span>
          <span className="text-muted text-small">{t(`pixKey.${parsed.type}`)}</span>
        </DetailRow>
        {body.owner_doc ? (
          <DetailRow name={t('withdrawals.owner')}>
            <span className="break-all font-semibold">{formatTaxId(body.owner_doc)}</span>
          </DetailRow>
        ) : null}
        {body.external_id ? (
          <DetailRow name={t('withdrawals.reference')}>
            <span className="break-all font-mono text-[14px]">{body.external_id}</span>
          </DetailRow>
        ) : null}
        {body.amount <= available ? (
          <DetailRow name={t('withdrawalRequest.after')}>
            <Money cents={available - body.amount} />
          </DetailRow>
        ) : null}
      </dl>
      <Notice tone="wait" icon={TriangleAlert}>
        {t('withdrawalRequest.final')}
      </Notice>
      {problem}
      <div className="flex flex-wrap gap-3 max-md:flex-col">
        <Button variant="primary" type="submit" disabled={isBusy}>
          {isBusy ? t('withdrawalRequest.sending') : t('withdrawalRequest.confirm')}
        </Button>
        <Button variant="quiet" onClick={onBack} disabled={isBusy}>
          {t('withdrawalRequest.back')}
        </Button>
      </div>
    </section>
  )
}

function DetailRow({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-muted text-small">{name}</dt>
      <dd className="mt-0.5 min-w-0">{children}</dd>
    </div>
  )
}
