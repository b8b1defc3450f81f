'use client'

import { Search } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { OrderEndingSection } from '#app/admin/ending.tsx'
import { useRejectionText } from '#components/api/problem.tsx'
import { useApi } from '#components/api/use-api.ts'
import { useFilters } from '#components/filters/use-filters.ts'
import { Money } from '#components/format/format.tsx'
import { RelativeTime } from '#components/format/relative-time.tsx'
import { Button } from '#components/ui/button.tsx'
import { Fact, Facts } from '#components/ui/details.tsx'
import { Field } from '#components/ui/field.tsx'
import { lazyDialog } from '#components/ui/lazy-dialog.ts'
import { shownStatusOf } from '#lib/charges/states.ts'
import { formatTaxId } from '#lib/core/pix/tax-id.ts'
import type { BankOrder, MaskedCharge, OrderEnding } from '#lib/operator/schema.ts'

const ReasonDialog = lazyDialog(() => import('#app/admin/reason-dialog.tsx'), 'ReasonDialog')

interface FindChargeProps {
  accountId: string
  /** Charge id from the URL; may be empty. */
  chargeId: string
  charge: MaskedCharge | null
  order: BankOrder | null
  /** How the order can be ended, or was; null for a charge. */
  ending: OrderEnding | null
}

/** Finds a charge, withdrawal or refund by id, for a support request. Only here can operators see payer data. */
export function FindCharge({ accountId, chargeId, charge, order, ending }: FindChargeProps) {
  const t = useTranslations('adminAccount')
  const { set, isPending } = useFilters<'charge'>()
  return (
    <div className="grid gap-5">
      <form
        method="get"
        onSubmit={event => {
          event.preventDefault()
          const id = new FormData(event.currentTarget).get('charge')
          set({ charge: String(id).trim() }, true)
        }}
        className="flex items-end gap-2"
      >
        <div className="min-w-0 flex-1">
          <Field
            label={t('chargeId')}
            name="charge"
            defaultValue={chargeId}
            maxLength={36}
            autoComplete="off"
            className="font-mono text-[13px]!"
          />
        </div>
        <Button
          variant="quiet"
          type="submit"
          formMethod="get"
          disabled={isPending}
          aria-label={t('find')}
          className="h-11"
        >
          <Search size={16} aria-hidden />
        </Button>
      </form>
      <div role="status">
        {chargeId && !charge && !order ? (
          <p className="text-muted text-small">{t('noCharge')}</p>
        ) : null}
      </div>
      {charge ? <FoundChargeFacts key={charge.id} accountId={accountId} charge={charge} /> : null}
      {order ? <BankOrderFacts order={order} /> : null}
      {order && ending ? <OrderEndingSection ending={ending} /> : null}
    </div>
  )
}

function FoundChargeFacts({ accountId, charge }: { accountId: string; charge: MaskedCharge }) {
  const api = useApi()
  const t = useTranslations()
  const [isOpen, setOpen] = useState(false)
  const [revealed, setRevealed] = useState<string | null>(null)
  return (
    <>
      <Facts>
        <Fact name={t('adminAccount.amountName')}>
          <span className="font-semibold">
            <Money cents={charge.amount} />
          </span>
        </Fact>
        <Fact name={t('adminAccount.status')}>
          {t(`chargeStatus.${shownStatusOf(charge)}`)} · {t(`adminAccount.${charge.mode}`)}
        </Fact>
        <Fact name={t('adminAccount.created')}>
          <RelativeTime at={charge.created_at} />
        </Fact>
        <Fact name={t('adminAccount.payer')}>
          <span className="font-mono text-[13px]" data-testid="payer-document">
            {revealed ?? charge.payer}
          </span>
          {revealed ? null : (
            <button
              type="button"
              onClick={() => setOpen(true)}
              className="ml-3 min-h-6 font-semibold text-accent text-small hover:underline"
            >
              {t('adminAccount.reveal')}
            </button>
          )}
        </Fact>
      </Facts>
      {isOpen ? (
        <ReasonDialog
          title={t('adminAccount.revealTitle')}
          description={t('adminAccount.revealText')}
          action={t('adminAccount.reveal')}
          send={async body => {
            const params = { id: accountId, charge_id: charge.id }
            const path = '/admin/accounts/[id]/charges/[charge_id]/document'
            setRevealed(formatTaxId((await api.post(path, { params, body })).data.document))
          }}
          onClose={() => setOpen(false)}
        />
      ) : null}
    </>
  )
}

/** A withdrawal or refund as its merchant sees it, with the bank's own words for staff. */
function BankOrderFacts({ order }: { order: BankOrder }) {
  const t = useTranslations('adminAccount')
  const rejectionText = useRejectionText()
  const rejection = rejectionText(order)
  return (
    <Facts>
      <Fact name={t(`order.${order.kind}`)}>
        <span className="font-semibold">
          <Money cents={order.amount} />
        </span>
      </Fact>
      <Fact name={t('status')}>
        {t(`orderStatus.${order.status}`)} · {t(order.mode)}
      </Fact>
      <Fact name={t('created')}>
        <RelativeTime at={order.created_at} />
      </Fact>
      {rejection ? <Fact name={t('merchantSees')}>{rejection}</Fact> : null}
      {order.bank_text ? (
        <Fact name={t('bankText')}>
          <span className="break-words">{order.bank_text}</span>
        </Fact>
      ) : null}
      {order.end_to_end_id ? (
        <Fact name={t('endToEnd')}>
          <span className="break-all font-mono text-[13px]">{order.end_to_end_id}</span>
        </Fact>
      ) : null}
      {order.other_end_to_end_id ? (
        <Fact name={t('otherEndToEnd')}>
          <span className="break-all font-mono text-[13px]">{order.other_end_to_end_id}</span>
          <span className="block text-bad text-small">{t('otherEndToEndText')}</span>
        </Fact>
      ) : null}
    </Facts>
  )
}
