'use client'

import { useLocale, useTranslations } from 'next-intl'
import { useState } from 'react'
import { useLiveCharge } from '#app/[mode]/charges/[id]/live-charge.tsx'
import { useApi } from '#components/form/api.ts'
import { useForm } from '#components/form/form.tsx'
import { Problem } from '#components/form/problem.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { refundRequest } from '#lib/charges/refunds/schema.ts'
import { formatReais, parseReais } from '#lib/core/money.ts'

export function RefundDialog({ onClose }: { onClose: () => void }) {
  const t = useTranslations()
  const locale = useLocale()
  const api = useApi()
  const { timeline, refresh } = useLiveCharge()
  const { refundable } = timeline
  const [amount, setAmount] = useState<number | null>(refundable)
  const form = useForm({
    schema: refundRequest[api.scope.mode],
    read: data => ({
      amount: zeroIfInvalid(parseReais(String(data.get('amount')), locale), refundable),
      reason: String(data.get('reason')).trim() || undefined,
    }),
    async send(body, idempotencyKey) {
      const path = `/transactions/${timeline.charge.id}/refunds`
      try {
        await api.send('POST', path, { body, idempotencyKey })
      } finally {
        // After a refusal, too: less may be left than the page shows.
        void refresh()
      }
      onClose()
    },
  })
  const left = moneyText(refundable, locale)
  const isAnyLeft = refundable > 0
  const remains = amount === null || amount > refundable ? null : refundable - amount
  return (
    <Dialog isOpen onClose={onClose} title={t('refund.title')} description={t('refund.text')}>
      <form {...form.props} className="grid gap-4">
        <MoneyField
          label={t('refund.amount')}
          name="amount"
          defaultValue={formatReais(refundable, locale)}
          onInput={event => setAmount(parseReais(event.currentTarget.value, locale))}
          problem={
            form.problems.amount
              ? t(isAnyLeft ? 'refund.amountWrong' : 'refund.none', { left })
              : null
          }
          hint={
            !isAnyLeft
              ? t('refund.none')
              : !remains || remains === refundable
                ? t('refund.left', { left })
                : t('refund.remains', { left: moneyText(remains, locale) })
          }
        />
        <Field
          label={t('refund.reason')}
          name="reason"
          note={t('ui.optional')}
          autoComplete="off"
          hint={t('refund.reasonHint')}
          problem={form.problems.reason ? t('refund.reasonWrong') : null}
        />
        <Problem error={form.failure} />
        <div className="mt-1 flex flex-wrap justify-end gap-3">
          <Button variant="quiet" onClick={onClose}>
            {t('ui.cancel')}
          </Button>
          <Button variant="primary" type="submit" aria-disabled={form.isBusy}>
            {form.isBusy
              ? t('refund.busy')
              : remains === null || !amount
                ? t('refund.confirmBare')
                : t('refund.confirm', { amount: moneyText(amount, locale) })}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** Returns zero, which is invalid, if the amount is missing or above `max`. */
function zeroIfInvalid(amount: number | null, max: number): number {
  return amount !== null && amount <= max ? amount : 0
}
