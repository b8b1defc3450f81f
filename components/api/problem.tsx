import { CircleAlert } from 'lucide-react'
import { useLocale, useTranslations } from 'next-intl'
import { ApiError, type LimitDetails } from '#components/api/client.ts'
import { MOMENT_FORMAT, moneyText, useTimeText } from '#components/format/format.tsx'
import { Notice } from '#components/ui/sheet.tsx'
import type { RejectionFields } from '#lib/dashboard/schema.ts'
import type { Attempt } from '#lib/webhooks/schema.ts'

export function useProblemText(): (error: unknown) => string {
  const t = useTranslations('problem')
  const limitText = useLimitText()
  return error => {
    const { code, requestId, limit } =
      error instanceof ApiError ? error : { code: '', requestId: null, limit: null }
    if (limit) return limitText(limit)
    const key = (code.endsWith('not_found') ? 'not_found' : code) as 'network'
    return /^\w+$/.test(key) && t.has(key)
      ? t(key)
      : t('other', { code: requestId ?? (code || '?') })
  }
}

/** Says which limit was exceeded, and when the amount is possible again. */
function useLimitText(): (limit: LimitDetails) => string {
  const t = useTranslations('limitProblem')
  const locale = useLocale()
  const timeText = useTimeText()
  return ({ name, amount, freesAt }) => {
    const key = `${freesAt === null ? 'always' : 'until'}.${name}` as 'until.account_day'
    const limit = moneyText(amount ?? 0, locale)
    if (!t.has(key)) return t('other')
    if (freesAt === null) return t(`always.${name as 'account_day'}`, { amount: limit })
    const time = timeText(freesAt, MOMENT_FORMAT)
    return t(`until.${name as 'account_day'}`, { amount: limit, time })
  }
}

export function Problem({ error }: { error: unknown }) {
  const text = useProblemText()
  if (!error) return null
  return (
    <Notice tone="bad" icon={CircleAlert} role="alert">
      {text(error)}
    </Notice>
  )
}

type AttemptProblem = Pick<Attempt, 'problem_code' | 'problem_params'>

/** Translates why a webhook attempt failed, in brief and in full; null after a success. */
export function useDeliveryProblem() {
  const t = useTranslations('deliveryProblem')
  return {
    brief: ({ problem_code: code, problem_params: params }: AttemptProblem) =>
      code && t(`${code}.brief`, params ?? {}),
    meaning: ({ problem_code: code, problem_params: params }: AttemptProblem) =>
      code && t(`${code}.meaning`, params ?? {}),
  }
}

/** Translates why the bank rejected a withdrawal or a refund; null if it was not rejected. */
export function useRejectionText() {
  const t = useTranslations('rejection')
  return ({ rejection_code: code, rejection_params: params }: RejectionFields) =>
    code && t(`${code}`, params ?? {})
}
