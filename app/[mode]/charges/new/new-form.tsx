'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useRef, useState } from 'react'
import { ItemsField } from '#app/[mode]/charges/new/items-field.tsx'
import { MetadataField } from '#app/[mode]/charges/new/metadata-field.tsx'
import { MoreOptions } from '#app/[mode]/charges/new/more-options.tsx'
import { readCharge } from '#app/[mode]/charges/new/new-charge.ts'
import { PayerFields } from '#app/[mode]/charges/new/payer-fields.tsx'
import { useForm } from '#components/form/form.ts'
import { Problem } from '#components/form/problem.tsx'
import { useApi } from '#components/nav/world.tsx'
import { Button } from '#components/ui/button.tsx'
import { MoneyField } from '#components/ui/field.tsx'
import { Sheet } from '#components/ui/sheet.tsx'
import { ApiError } from '#lib/edge/client/api.ts'
import { chargeRequest } from '#lib/rooms/charges/schema.ts'

interface Created {
  data: { transaction_id: string }
}

interface NewChargeFormProps {
  /** Default lifetime of the account's charges, in seconds. */
  expiresIn: number
}

/** Validates with the schema of the API; the input is preserved when a request fails. */
export function NewChargeForm({ expiresIn }: NewChargeFormProps) {
  const t = useTranslations()
  const api = useApi()
  const router = useRouter()
  const { mode } = api.scope
  const rows = useRef({ items: [] as number[], metadata: [] as number[] })
  const [amountText, setAmountText] = useState('')
  const [isMade, setMade] = useState(false)
  const form = useForm({
    schema: chargeRequest[mode],
    read: data => readCharge(data, rows.current.items, rows.current.metadata),
    async send(body, idempotencyKey) {
      const { data } = await api.send<Created>('POST', '/transactions', { body, idempotencyKey })
      setMade(true)
      router.push(`/${mode}/charges/${data.transaction_id}`)
    },
  })
  const isTaken = form.failure instanceof ApiError && form.failure.code === 'external_id_used'
  const isBusy = form.isBusy || isMade
  const wrong = (name: string, text: string) =>
    form.problems[name] ? (form.problems[name] === 'required' ? t('ui.required') : text) : null
  return (
    <form {...form.props} aria-label={t('newCharge.title')} className="max-w-[720px]">
      <Sheet className="grid gap-6 px-4 py-5 md:px-7 md:py-7">
        <div className="md:max-w-[320px] [&>div>span]:top-[43px]">
          <MoneyField
            label={t('newCharge.amount')}
            name="amount"
            autoFocus
            className="h-14 text-[24px]"
            hint={t('newCharge.amountHint')}
            problem={wrong('amount', t('newCharge.amountWrong'))}
            onInput={event => setAmountText(event.currentTarget.value)}
          />
        </div>
        <PayerFields wrong={wrong} />
        <MoreOptions expiresIn={expiresIn} wrong={wrong} isTaken={isTaken} problems={form.problems}>
          <ItemsField
            amountText={amountText}
            onRows={ids => {
              rows.current.items = ids
              form.props.onInput()
            }}
            problem={form.problems.items ? t('newCharge.itemsWrong') : null}
          />
          <MetadataField
            onRows={ids => {
              rows.current.metadata = ids
              form.props.onInput()
            }}
            problem={form.problems.metadata ? t('newCharge.metadataWrong') : null}
          />
        </MoreOptions>
        {isTaken ? null : <Problem error={form.failure} />}
        <div>
          <Button
            look="primary"
            type="submit"
            aria-disabled={isBusy}
            className="min-h-11 px-6 max-md:w-full"
          >
            {isBusy ? t('newCharge.busy') : t('newCharge.submit')}
          </Button>
        </div>
      </Sheet>
    </form>
  )
}
