import { centsOf, fieldsOf, listOf, textOf, timeOf } from '#lib/services/gateway/api-pix/json.ts'
import type { BankList } from '#lib/services/gateway/api-pix/receipts.ts'
import type { ReportedDispute } from '#lib/services/gateway/lists.ts'

/** Disputes are rare, and read over weeks: a bank that wants shorter periods refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** A dispute of any other status is open: its amount stays held until the bank reports an end. */
const ENDS: Record<string, ReportedDispute['state']> = {
  ACEITA: 'lost',
  REJEITADA: 'won',
  CANCELADA_EFI: 'won',
}

/** Disputes (infrações) by the time at which they began. */
export const DISPUTES: BankList<ReportedDispute> = {
  path: '/gn/infracoes',
  windowMs: WINDOW_MS,
  read(body) {
    const all = listOf(fieldsOf(body).infracoes).map(readDispute)
    const items = all.filter(dispute => dispute !== null)
    return { items, count: all.length, unreadable: all.length - items.length }
  },
}

function readDispute(value: unknown): ReportedDispute | null {
  const fields = fieldsOf(value)
  const id = textOf(fields.idInfracao)
  const endToEndId = textOf(fields.endToEndId)
  const amount = centsOf(fields.valor)
  const status = textOf(fields.status)
  if (!id || !endToEndId || !amount || !status) return null
  const state = (Object.hasOwn(ENDS, status) && ENDS[status]) || 'open'
  const respondBy = timeOf(fieldsOf(fields.dadosAnalise).prazoFinalizacao)
  return { id, endToEndId, amount, state, respondBy }
}
