'use client'

import { useLocale, useTranslations } from 'next-intl'
import * as z from 'zod'
import type { Api } from '#components/api/client.ts'
import { useApi } from '#components/api/use-api.ts'
import { useForm } from '#components/form/form.tsx'
import { moneyText } from '#components/format/format.tsx'
import { Dialog, DialogActions } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { MoneyField } from '#components/ui/money-field.tsx'
import { formatReais, parseReais } from '#lib/core/money.ts'
import type { EventType } from '#lib/webhooks/states.ts'

export interface SandboxCall {
  /** Calls the sandbox operation. */
  send: (api: Api, asked: z.infer<typeof AskedDetails>, idempotencyKey?: string) => Promise<unknown>
  /** Event that the decision causes. */
  event: EventType
}

export interface AskingDecision extends SandboxCall {
  name: 'refuse' | 'lose' | 'dispute' | 'return'
  /** Asks first for an amount of at most so many cents, or for a reason. */
  asks: { amountMax: number } | 'reason'
}

interface DecisionDialogProps {
  decision: AskingDecision
  /** Follows success and failure. */
  settle: () => Promise<unknown>
  onDecided: () => void
  onClose: () => void
}

const AskedDetails = z.object({
  amount: z.int().min(1).optional(),
  reason: z.string().max(255).optional(),
})

/** Asks for the amount or the reason of a decision. */
export function DecisionDialog({ decision, settle, onDecided, onClose }: DecisionDialogProps) {
  const t = useTranslations()
  const locale = useLocale()
  const api = useApi()
  const { name, send: sendDecision, asks } = decision
  const amountMax = typeof asks === 'object' ? asks.amountMax : null
  const form = useForm({
    schema: AskedDetails,
    read(data) {
      if (amountMax === null) return { reason: String(data.get('reason')).trim() || undefined }
      const amount = parseReais(String(data.get('amount')), locale)
      return { amount: amount !== null && amount <= amountMax ? amount : 0 }
    },
    async send(body, idempotencyKey) {
      try {
        await sendDecision(api, body, idempotencyKey)
      } finally {
        await settle()
      }
      onDecided()
      onClose()
    },
  })
  return (
    <Dialog
      onClose={onClose}
      title={t(`simulate.asks.${name}.title`)}
      description={t(`simulate.asks.${name}.text`)}
    >
      <form {...form.props} className="grid gap-4">
        {amountMax === null ? (
          <Field
            label={t('simulate.reason')}
            name="reason"
            note={t('ui.optional')}
            autoComplete="off"
            problem={form.problems.reason ? t('simulate.reasonWrong') : null}
          />
        ) : (
          <MoneyField
            label={t('simulate.amount')}
            name="amount"
            max={amountMax}
            defaultValue={formatReais(amountMax, locale)}
            hint={t('simulate.amountHint', { max: moneyText(amountMax, locale) })}
            problem={
              form.problems.amount
                ? t('simulate.amountWrong', { max: moneyText(amountMax, locale) })
                : null
            }
          />
        )}
        <DialogActions
          action={t(`simulate.decision.${name}`)}
          busy={t('simulate.busy')}
          isBusy={form.isBusy}
          failure={form.failure}
          onCancel={onClose}
        />
      </form>
    </Dialog>
  )
}
