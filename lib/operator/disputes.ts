import { readPeople } from '#lib/audit/queries.ts'
import { evidenceListSql } from '#lib/charges/disputes/evidence.ts'
import { ANSWER_MAX, type DisputesQuery } from '#lib/charges/disputes/schema.ts'
import { isUuid } from '#lib/core/ids.ts'
import { dateFormat, HOME_TIME_ZONE, type Locale } from '#lib/core/locale.ts'
import { formatReais } from '#lib/core/money.ts'
import { maskTaxId } from '#lib/core/pix/tax-id.ts'
import { disputeColumns, disputeStatusCondition, queryDisputes } from '#lib/dashboard/disputes.ts'
import { Prisma } from '#lib/db/client.ts'
import type { Page } from '#lib/db/page.ts'
import { asJson, queryRows, utc, utcText } from '#lib/db/sql.ts'
import { accountSearchCondition } from '#lib/operator/accounts.ts'
import type { DisputeLine, DisputeWithEvidence } from '#lib/operator/schema.ts'
import { MESSAGES } from '#messages/words.ts'

const EVIDENCE_MAX = 50

const lineColumns = Prisma.sql`${disputeColumns},
  json_build_object('id', a.id, 'name', a.name) AS account`

/** Lists disputes of all accounts. */
export async function listDisputeLines({
  q,
  ...query
}: DisputesQuery & { q?: string }): Promise<Page<DisputeLine>> {
  const from = Prisma.sql`disputes d JOIN accounts a ON a.id = d.account_id
    WHERE ${await accountSearchCondition(q)}`
  return queryDisputes(lineColumns, from, query)
}

/** Counts the disputes of live mode that wait for an answer, and returns the first deadline. */
export async function summarizeUnanswered(): Promise<{ count: number; due_at: string | null }> {
  const [summary] = await queryRows<{ count: number; due_at: string | null }>(Prisma.sql`
    SELECT json_build_object('count', count(*), 'due_at', ${utcText('min(d.respond_by)')})::text AS json
    FROM disputes d WHERE d.mode = 'live' AND ${disputeStatusCondition('open')}`)
  return summary ?? { count: 0, due_at: null }
}

export async function readDispute(
  accountId: string,
  id: string,
): Promise<DisputeWithEvidence | null> {
  if (![accountId, id].every(isUuid)) return null
  const columns = Prisma.sql`${lineColumns}, d.bank_id, n.name AS connection, d.lost_amount,
    ${utc('d.closed_at')}, d.answer, ${utc('d.answered_at')}, d.answered_by,
    (SELECT COALESCE(g.response ->> 'bankText', g.response ->> 'reason') FROM gateway_calls g
      WHERE g.account_id = d.account_id AND g.subject_id = d.id ORDER BY g.id DESC LIMIT 1) AS bank_text,
    ${evidenceSql} AS evidence, ${evidenceListSql} AS sent_evidence`
  const [row] = await queryRows<DisputeWithEvidence>(Prisma.sql`
    SELECT ${asJson(columns)}::text AS json FROM disputes d JOIN accounts a ON a.id = d.account_id
      JOIN charges c ON c.account_id = d.account_id AND c.id = d.charge_id
      JOIN connections n ON n.id = d.connection_id
    WHERE d.account_id = ${accountId}::uuid AND d.id = ${id}::uuid`)
  if (!row) return null
  const findPerson = await readPeople([[null, row.answered_by]])
  const evidence = { ...row.evidence, payer: maskTaxId(row.evidence.payer) }
  return { ...row, evidence, answered_by: findPerson(null, row.answered_by)?.name ?? null }
}

const evidenceSql = Prisma.sql`json_build_object(
  'charge_id', c.id, 'end_to_end_id', c.end_to_end_id, 'reference', c.external_id, 'charged', c.amount,
  'created_at', ${utcText('c.created_at')}, 'paid_at', ${utcText('c.paid_at')},
  'viewed_at', ${utcText('c.viewed_at')}, 'payer', c.client_doc,
  'attempts', (SELECT COALESCE(json_agg(x), '[]') FROM (
    SELECT ${utc('t.created_at', 'at')}, e.type, v.host, t.response_status FROM deliveries v
    JOIN events e ON e.account_id = v.account_id AND e.id = v.event_id
    JOIN delivery_attempts t ON t.account_id = v.account_id AND t.delivery_id = v.id
    WHERE v.account_id = d.account_id AND v.subject_id = c.id
    ORDER BY t.created_at LIMIT ${EVIDENCE_MAX}) x),
  'refunds', (SELECT COALESCE(json_agg(x), '[]') FROM (
    SELECT ${utc('r.created_at', 'at')}, r.amount, r.status FROM refunds r
    WHERE r.account_id = d.account_id AND r.charge_id = c.id ORDER BY r.id LIMIT ${EVIDENCE_MAX}) x))`

/** The language that banks read. */
export const BANK_LOCALE = 'pt-BR'
const isDelivered = ({ response_status: status }: { response_status: number | null }) =>
  status !== null && status >= 200 && status <= 299

/** Drafts a defense of what the records prove and the merchant has written, and of nothing else. */
export function draftAnswer(
  { evidence, amount, sent_evidence: sent }: DisputeWithEvidence,
  locale: Locale,
): string {
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
  const own = sent.flatMap(({ text }) => text ?? [])
  // Whole texts only: the operator has all of them beside the draft.
  return [own.length > 0 ? t.merchant : '', ...own].filter(Boolean).reduce((draft, text) => {
    const longer = `${draft}\n${text}`
    return longer.length > ANSWER_MAX ? draft : longer
  }, sentences.filter(Boolean).join('\n'))
}
