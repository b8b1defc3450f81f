import type { Locale } from '#lib/core/locale.ts'
import { dateFormat, HOME_TIME_ZONE } from '#lib/core/locale.ts'
import { formatReais } from '#lib/core/money.ts'
import type { DisputeEvidence } from '#lib/operator/disputes/schema.ts'
import { MESSAGES } from '#messages/words.ts'

/** The language that banks read. */
export const BANK_LOCALE = 'pt-BR'
const isDelivered = ({ response_status: status }: { response_status: number | null }) =>
  status !== null && status >= 200 && status <= 299

/** Drafts a defence of what the records prove, and of nothing else. */
export function draftAnswer(evidence: DisputeEvidence, amount: number, locale: Locale): string {
  const t = MESSAGES[locale].disputeDraft
  const times = dateFormat(locale, {
    dateStyle: 'short',
    timeStyle: 'short',
    timeZone: HOME_TIME_ZONE,
  })
  const time = (at: string) => times.format(new Date(at))
  const money = (cents: number) => `R$ ${formatReais(cents, locale)}`
  const fill = (text: string, values: Record<string, string>) =>
    text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '')
  const told = evidence.attempts.find(
    attempt => attempt.type === 'transaction.paid' && isDelivered(attempt),
  )
  const refunded = evidence.refunds
    .filter(({ status }) => status === 'completed')
    .reduce((sum, refund) => sum + refund.amount, 0)
  const { end_to_end_id: endToEndId, reference, charged, created_at, paid_at, viewed_at } = evidence
  const sentences = [
    fill(t.contested, { amount: money(amount), endToEndId }),
    fill(t.created, { reference, amount: money(charged), at: time(created_at) }),
    viewed_at !== null && viewed_at < paid_at ? fill(t.viewed, { at: time(viewed_at) }) : '',
    fill(t.paid, { at: time(paid_at) }),
    told ? fill(t.told, { at: time(told.at) }) : '',
    refunded > 0 ? fill(t.refunded, { amount: money(refunded) }) : t.notRefunded,
    t.zone,
  ]
  return sentences.filter(Boolean).join('\n')
}
