import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { centsOf, fieldsOf, isStatusOk, listOf, textOf, timeOf } from '#lib/banks/api-pix/json.ts'
import { judge, unknown } from '#lib/banks/api-pix/outcomes.ts'
import type { BankList } from '#lib/banks/api-pix/payments.ts'
import type {
  AnswerEnd,
  DisputeAnswer,
  GatewayResult,
  ReportedDispute,
} from '#lib/banks/gateway.ts'

/** Disputes are rare, and read over weeks: a bank that wants shorter periods refuses this one. */
const WINDOW_MS = 30 * 86_400_000

/** A dispute of any other status is open: its amount stays held until the bank reports an end. */
const ENDS: Record<string, ReportedDispute['state']> = {
  ACEITA: 'lost',
  REJEITADA: 'won',
  CANCELADA_EFI: 'won',
}

/** Status between the defence and the end. */
const DEFENDED = 'EM_DEFESA'

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
  const { prazoFinalizacao, recebimentoDefesa } = fieldsOf(fields.dadosAnalise)
  const respondBy = timeOf(prazoFinalizacao)
  const isAnswered =
    status === DEFENDED || [recebimentoDefesa, fields.defesa].some(value => textOf(value) !== null)
  return { id, endToEndId, amount, state, respondBy, isAnswered }
}

/** The only value that Efí takes: a dispute that is accepted gets no defence. */
const CONTESTED = 'rejeitado'

/**
 * Sends the defence in a dispute. After 409 the dispute has one, which may be another: the list of disputes
 * says whether it has.
 */
export async function answerDispute(
  client: BankClient,
  { id, text }: DisputeAnswer,
  signal: AbortSignal,
): Promise<GatewayResult<AnswerEnd>> {
  const path = `${DISPUTES.path}/${encodeURIComponent(id)}/defesa`
  const body = { analise: CONTESTED, justificativa: text }
  const reply = await client.call({ method: 'POST', path, body }, signal)
  if (reply.kind === 'response' && isStatusOk(reply.status))
    return { outcome: 'ok', value: 'taken' }
  const isLate = reply.kind === 'response' && reply.status === 422 && reply.body !== undefined
  if (isLate) return { outcome: 'ok', value: 'late' }
  const isDefended = reply.kind === 'response' && reply.status === 409
  if (isDefended) return unknown('the bank has a defence of this dispute')
  const verdict = judge(reply, 'question')
  if (verdict.outcome === 'ask') return verdict.ifAbsent
  if (verdict.outcome !== 'none') return verdict
  const bankText = 'the bank does not have this dispute'
  return { outcome: 'rejected', code: 'unspecified', params: {}, bankText }
}
