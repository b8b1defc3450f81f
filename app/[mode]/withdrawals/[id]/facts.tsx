'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { ExactTime, Money } from '#components/format/format.tsx'
import { CopyValue } from '#components/ui/copy.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { formatPixKey, maskPixKey } from '#lib/core/pix/pix-key.ts'
import type { WithdrawalTimelineData } from '#lib/dashboard/schema.ts'
import type { WithdrawalRow } from '#lib/withdrawals/schema.ts'

interface PixKeyProps {
  withdrawal: WithdrawalRow
  dictKey: string
}

interface WithdrawalFactsProps extends PixKeyProps {
  payee: WithdrawalTimelineData['payee']
}

export function WithdrawalFacts({ withdrawal, dictKey, payee }: WithdrawalFactsProps) {
  const t = useTranslations('withdrawals')
  return (
    <Facts>
      <Fact name={t('key')}>
        <PixKey withdrawal={withdrawal} dictKey={dictKey} />
      </Fact>
      {withdrawal.owner_doc ? (
        <Fact name={t('owner')}>
          <span className="break-words font-semibold">{withdrawal.owner_doc}</span>
          <span className="block text-muted text-small">{t('ownerText')}</span>
        </Fact>
      ) : null}
      {payee ? (
        <Fact name={t('payee')}>
          <span className="break-words font-semibold">{payee.name}</span>
          <span className="block text-muted text-small">
            {[payee.masked_doc, payee.bank].filter(Boolean).join(' · ')}
          </span>
        </Fact>
      ) : null}
      <Fact name={t('reference')}>
        {withdrawal.external_id ? (
          <CopyValue name={t('reference')} value={withdrawal.external_id} />
        ) : (
          '—'
        )}
      </Fact>
      <Fact name={t('created')}>
        <ExactTime at={withdrawal.created_at} format="dated" />
      </Fact>
      <Fact name={t('endToEnd')}>
        {withdrawal.end_to_end_id ? (
          <CopyValue name={t('endToEnd')} value={withdrawal.end_to_end_id} />
        ) : (
          '—'
        )}
      </Fact>
      {withdrawal.returned_amount > 0 ? (
        <Fact name={t('sentBack')}>
          <Money cents={withdrawal.returned_amount} />
        </Fact>
      ) : null}
      <Fact name={t('id')}>
        <CopyValue name={t('id')} value={withdrawal.id} />
      </Fact>
      {withdrawal.webhook_url ? (
        <Fact name={t('webhook')}>
          <CopyValue name={t('webhook')} value={withdrawal.webhook_url} />
        </Fact>
      ) : null}
    </Facts>
  )
}

function PixKey({ withdrawal: { pix_key_type: type }, dictKey }: PixKeyProps) {
  const t = useTranslations()
  const [isShown, setShown] = useState(false)
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-3">
        <span className="break-all font-semibold">
          {isShown ? formatPixKey(type, dictKey) : maskPixKey(type, dictKey)}
        </span>
        <button
          type="button"
          aria-pressed={isShown}
          onClick={() => setShown(!isShown)}
          className="min-h-6 font-semibold text-accent text-small"
        >
          {isShown ? t('withdrawal.hide') : t('withdrawal.reveal')}
        </button>
      </span>
      <span className="block text-muted text-small">{t(`pixKey.${type}`)}</span>
    </>
  )
}
