import type { BankClient } from '#lib/banks/api-pix/client.ts'
import {
  bodyOf,
  centsOf,
  fieldsOf,
  isSuccess,
  type Reply,
  textOf,
  timeOf,
} from '#lib/banks/api-pix/json.ts'
import { judge, judgeQuestion, unknown } from '#lib/banks/api-pix/outcomes.ts'
import type {
  GatewayResult,
  Statement,
  StatementEntry,
  StatementEntryKind,
  StatementRead,
} from '#lib/banks/gateway.ts'
import { dayOf } from '#lib/core/locale.ts'

const VERSION = '1.0'
const AMOUNT_PATTERN = /^-?\d{1,10}\.\d{2}$/

const BALANCE = /^SD[01];/

type Column = keyof Omit<StatementEntry, 'kind'> | '-'

interface RecordType {
  kind: StatementEntryKind
  sign: 1 | -1
  /** Columns after the type, of each form that the record may have; `-` is not read. */
  forms: Column[][]
}

const FEE_OF_PIX = form('- endToEndId amount at')
const FEE_OF_TRANSFER = form('- orderId amount at')
/** Efí's table has a description, one of its samples has not. */
const TRANSFERS = [form('- orderId amount - at'), form('- orderId amount at')]

/**
 * Records by the layout that Efí publishes as version 4.0 of July 2023, whose files name their layout
 * 1.0. A record with any other number of columns is not read.
 */
const RECORDS: Record<string, RecordType> = {
  PR: { kind: 'payment', sign: 1, forms: [form('- endToEndId txid amount - - - at')] },
  TPR: { kind: 'payment_fee', sign: -1, forms: [FEE_OF_PIX] },
  ETPR: { kind: 'payment_fee_reversal', sign: 1, forms: [FEE_OF_PIX] },
  PDE: { kind: 'refund', sign: -1, forms: [form('- endToEndId txid orderId returnId amount at')] },
  PEC: { kind: 'payout', sign: -1, forms: [form('- endToEndId orderId amount - - - at')] },
  PEB: {
    kind: 'payout',
    sign: -1,
    forms: [form('- endToEndId orderId amount - - - - - - - - at')],
  },
  EPE: { kind: 'payout_reversal', sign: 1, forms: [FEE_OF_PIX] },
  PDR: { kind: 'payout_return', sign: 1, forms: [form('- endToEndId returnId amount at')] },
  // Efí's table and its samples disagree about the columns.
  TPE: {
    kind: 'payout_fee',
    sign: -1,
    forms: [FEE_OF_PIX, form('- endToEndId txid orderId returnId amount at')],
  },
  ETPE: { kind: 'payout_fee_reversal', sign: 1, forms: [FEE_OF_PIX] },
  TFR: { kind: 'transfer_received', sign: 1, forms: TRANSFERS },
  TFE: { kind: 'transfer_sent', sign: -1, forms: TRANSFERS },
  ETFE: { kind: 'transfer_reversal', sign: 1, forms: [FEE_OF_TRANSFER] },
  TTFE: { kind: 'transfer_fee', sign: -1, forms: [FEE_OF_TRANSFER] },
  ETTFE: { kind: 'transfer_fee_reversal', sign: 1, forms: [FEE_OF_TRANSFER] },
}

/** Reads the file of a report: a line per record, columns separated by semicolons, free texts in base64. */
export function readStatementFile(file: string, day: string): StatementRead {
  const lines = file
    .replace(/^\uFEFF/, '')
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const head = columnsOf(lines[0] ?? '')
  const last = columnsOf(lines.at(-1) ?? '')
  if (lines.length === 0) return { state: 'unreadable', flaw: 'empty' }
  if (head[0] !== 'CA' || head.at(-1) !== VERSION) return { state: 'unreadable', flaw: 'layout' }
  // Counted from the end: the name of the account's owner is before it.
  if (head.at(-3) !== day) return { state: 'unreadable', flaw: 'day' }
  if (last[0] !== 'T' || !/^\d{1,9}$/.test(last[1] ?? ''))
    return { state: 'unreadable', flaw: 'cut' }
  return { state: 'ready', statement: readRecords(day, lines.slice(1, -1), Number(last[1])) }
}

function columnsOf(line: string): string[] {
  return line.split(';').map(column => column.trim())
}

/** `count`: records as the bank counts them, without those of balances. */
function readRecords(day: string, records: string[], count: number): Statement {
  const balances = new Map<string, number>()
  const entries: StatementEntry[] = []
  const unread: string[] = []
  for (const record of records) {
    const columns = columnsOf(record)
    const [type = '', text = ''] = columns
    const entry = readEntry(columns)
    const balance = BALANCE.test(record) && columns.length === 3 ? readCents(text) : null
    if (entry) entries.push(entry)
    else if (balance !== null && !balances.has(type)) balances.set(type, balance)
    else unread.push(record)
  }
  const [opening = null, closing = null] = [balances.get('SD0'), balances.get('SD1')]
  const moved = entries.reduce((sum, { amount }) => sum + amount, 0)
  return {
    day,
    opening,
    closing,
    entries,
    unread,
    difference: opening === null || closing === null ? null : closing - opening - moved,
    missing: count - entries.length - unread.filter(record => !BALANCE.test(record)).length,
  }
}

function readEntry([type = '', ...values]: string[]): StatementEntry | null {
  const record = Object.hasOwn(RECORDS, type) ? RECORDS[type] : undefined
  const columns = record?.forms.find(({ length }) => length === values.length)
  if (!record || !columns) return null
  const find = (column: Column) => values[columns.indexOf(column)] || null
  const [amount, at] = [readCents(find('amount')), timeOf(find('at'))]
  if (amount === null || amount < 0 || at === null) return null
  return {
    kind: record.kind,
    amount: record.sign < 0 ? 0 - amount : amount,
    at,
    endToEndId: find('endToEndId'),
    returnId: find('returnId'),
    txid: find('txid'),
    orderId: find('orderId'),
  }
}

/** An amount without decimals could be of reais or cents: it is not read. */
function readCents(text: string | null): number | null {
  if (text === null || !AMOUNT_PATTERN.test(text)) return null
  const cents = centsOf(text.replace('-', ''))
  return cents === null ? null : text.startsWith('-') ? 0 - cents : cents
}

function form(columns: string): Column[] {
  return columns.split(' ') as Column[]
}

export const REPORTS_PATH = '/gn/relatorios'
/** Efí makes a report in 30 s on average. */
const ORDERED_PAUSE_MS = 30_000
const MAKING_PAUSE_MS = 5_000

/** All that Efí can report. Names and documents of payees are not ordered. */
const RECORD_FILES = [
  'pixRecebido',
  'pixEnviadoChave',
  'pixEnviadoDadosBancarios',
  'estornoPixEnviado',
  'pixDevolucaoEnviada',
  'pixDevolucaoRecebida',
  'saldoDiaAnterior',
  'saldoDia',
  'tarifaPixRecebido',
  'tarifaPixEnviado',
  'estornoTarifaPixRecebido',
  'estornoTarifaPixEnviado',
  'transferenciaEnviada',
  'transferenciaRecebida',
  'estornoTransferenciaEnviada',
  'tarifaTransferenciaEnviada',
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
  outcome: 'rejected',
  code: 'unspecified',
  params: {},
  bankText: 'the bank reports days before today only',
}

async function orderReport(
  client: BankClient,
  dataMovimento: string,
  signal: AbortSignal,
): Promise<GatewayResult<StatementRead>> {
  const body = {
    dataMovimento,
    tipoRegistros: Object.fromEntries(RECORD_FILES.map(it => [it, true])),
  }
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
