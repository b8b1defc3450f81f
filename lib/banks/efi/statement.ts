import type { BankClient } from '#lib/banks/api-pix/client.ts'
import { bodyOf, fieldsOf, isSuccess, type Reply, textOf } from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import { readStatementFile } from '#lib/banks/efi/statement-file.ts'
import type { GatewayResult } from '#lib/banks/gateway.ts'
import type { StatementRead } from '#lib/banks/statement.ts'
import { dayOf } from '#lib/core/locale.ts'

export const REPORTS_PATH = '/gn/relatorios'
/** Efí makes a report in 30 s on average. */
const ORDERED_PAUSE_MS = 30_000
const MAKING_PAUSE_MS = 5_000

/** All that Efí can report. Names and documents of payees are not ordered. */
const RECORDS = [
  ...['pixRecebido', 'pixEnviadoChave', 'pixEnviadoDadosBancarios', 'estornoPixEnviado'],
  ...['pixDevolucaoEnviada', 'pixDevolucaoRecebida', 'saldoDiaAnterior', 'saldoDia'],
  ...['tarifaPixRecebido', 'tarifaPixEnviado', 'estornoTarifaPixRecebido'],
  ...['estornoTarifaPixEnviado', 'transferenciaEnviada', 'transferenciaRecebida'],
  ...['estornoTransferenciaEnviada', 'tarifaTransferenciaEnviada'],
  'estornoTarifaTransferenciaEnviada',
]

/**
 * Orders the report of a day, and with a cursor, which is the report's id, asks for it. An order whose
 * response was lost is repeated: it has no effect but a second report.
 */
export async function readStatement(
  client: BankClient,
  day: string,
  cursor: string | null,
  signal: AbortSignal,
): Promise<GatewayResult<StatementRead>> {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || day >= dayOf(new Date())) return TOO_EARLY
  return cursor === null
    ? orderReport(client, day, signal)
    : fetchReport(client, day, cursor, signal)
}

const TOO_EARLY: GatewayResult<never> = {
  ...({ outcome: 'rejected', code: 'unspecified', params: {} } as const),
  bankText: 'the bank reports days before today only',
}

async function orderReport(
  client: BankClient,
  dataMovimento: string,
  signal: AbortSignal,
): Promise<GatewayResult<StatementRead>> {
  const body = { dataMovimento, tipoRegistros: Object.fromEntries(RECORDS.map(it => [it, true])) }
  const call = { method: 'POST', path: `${REPORTS_PATH}/extrato-conciliacao`, body } as const
  const reply = await client.call(call, signal)
  if (!isSuccess(reply)) return judgeQuestion(reply, 'no report')
  const { id, status } = fieldsOf(bodyOf(reply))
  const cursor = textOf(id)
  if (cursor === null) return unknown('a report without an id')
  const pauseMs = status === 'CONCLUIDO' ? 0 : ORDERED_PAUSE_MS
  return { outcome: 'ok', value: { state: 'making', cursor, pauseMs } }
}

async function fetchReport(
  client: BankClient,
  day: string,
  cursor: string,
  signal: AbortSignal,
): Promise<GatewayResult<StatementRead>> {
  const path = `${REPORTS_PATH}/${encodeURIComponent(cursor)}`
  const headers = { accept: '*/*' }
  const reply = await client.call({ method: 'GET', path, headers, isText: true }, signal)
  if (isGivenUp(reply)) return { outcome: 'ok', value: { state: 'lost' } }
  if (reply.kind !== 'response' || !isSuccess(reply))
    return judge(reply, 'question').outcome === 'none'
      ? { outcome: 'ok', value: { state: 'lost' } }
      : judgeQuestion(reply, 'no report')
  // Before it is made, the response is that of the order; its status is not always 202.
  const isMaking = reply.status === 202 || textOf(fieldsOf(reply.body).status) !== null
  if (isMaking)
    return { outcome: 'ok', value: { state: 'making', cursor, pauseMs: MAKING_PAUSE_MS } }
  return typeof reply.body === 'string'
    ? { outcome: 'ok', value: readStatementFile(reply.body, day) }
    : unknown('no report')
}

/** Efí says of a report that it failed to make that a new one must be ordered. */
function isGivenUp(reply: Reply): boolean {
  const isError = reply.kind === 'response' && reply.status === 500
  return isError && /novo relat/i.test(textOf(fieldsOf(bodyOf(reply)).detail) ?? '')
}
