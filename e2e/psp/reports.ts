import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Bank } from './bank.ts'
import type { Entry } from './book.ts'
import { toReais } from './formats.ts'
import type { Report } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody } from './route.ts'

export const REPORT_ROUTES: Route[] = [
  {
    method: 'POST',
    path: '/v2/gn/relatorios/extrato-conciliacao',
    scope: 'gn.reports.write',
    kind: 'efi',
    handle: orderReport,
  },
  {
    method: 'GET',
    path: '/v2/gn/relatorios/:id',
    scope: 'gn.reports.read',
    kind: 'efi',
    handle: readReport,
  },
]

/** Every type of record that a report can have, and the flag that orders it. */
const FLAGS = {
  PR: 'pixRecebido',
  PEC: 'pixEnviadoChave',
  PEB: 'pixEnviadoDadosBancarios',
  EPE: 'estornoPixEnviado',
  PDE: 'pixDevolucaoEnviada',
  PDR: 'pixDevolucaoRecebida',
  TPE: 'tarifaPixEnviado',
  TPR: 'tarifaPixRecebido',
  ETPE: 'estornoTarifaPixEnviado',
  ETPR: 'estornoTarifaPixRecebido',
  SD0: 'saldoDiaAnterior',
  SD1: 'saldoDia',
  TFE: 'transferenciaEnviada',
  TFR: 'transferenciaRecebida',
  ETFE: 'estornoTransferenciaEnviada',
  TTFE: 'tarifaTransferenciaEnviada',
  ETTFE: 'estornoTarifaTransferenciaEnviada',
} as const

/** Types whose records are counted together, in the order of the last line. */
const COUNTED = ['PR', 'PEC PEB', 'PDE PDR', 'EPE', 'TPR TPE', 'ETPR ETPE'].map(types =>
  types.split(' '),
)
const TITLE = 'Extrato de Conciliação API Pix'
const FIRST_PROTOCOL = 318_548_000
/** Counts of transfers, which this bank does not make. */
const NO_TRANSFERS = [0, 0, 0, 0, 0]

const REPORT_BODY = z.strictObject({
  dataMovimento: z.iso.date(),
  tipoRegistros: z.strictObject(
    Object.fromEntries(Object.values(FLAGS).map(flag => [flag, z.boolean().optional()])),
  ),
})

/** A report that was made before for the same day and records is given again; one in the making is not. */
function orderReport(bank: Bank, { body }: Call): Reply {
  const { dataMovimento: day, tipoRegistros } = readBody(REPORT_BODY, body, 'reportInvalid')
  if (day >= dayOf(bank.now())) throw new Refusal('reportInvalid', 'The day must be before today')
  const flags = Object.values(FLAGS).filter(flag => tipoRegistros[flag] === true)
  const made = [...bank.reports.values()].find(
    report => report.day === day && report.flags.join() === flags.join() && isMade(report),
  )
  const report = made ?? {
    id: randomUUID(),
    day,
    flags,
    orderedAt: bank.now(),
    questionsLeft: bank.settings.reportQuestions,
  }
  bank.reports.set(report.id, report)
  return { status: 202, body: renderReport(report, 'AGUARDANDO_PROCESSAMENTO') }
}

/** The report is made after a number of questions, so that no test waits for it. */
function readReport(bank: Bank, { params }: Call): Reply {
  const report = bank.reports.get(params.id ?? '')
  if (!report) throw new Refusal('notFound', 'There is no such report')
  if (isMade(report)) return { status: 200, csv: writeReport(bank, report) }
  const body = renderReport(report, 'EM_PROCESSAMENTO')
  report.questionsLeft -= 1
  return { status: 202, body }
}

function isMade({ questionsLeft }: Report): boolean {
  return questionsLeft <= 0
}

function renderReport(report: Report, status: string) {
  const { id, orderedAt } = report
  const dataSolicitacao = orderedAt.toISOString()
  return { id, dataSolicitacao, status: isMade(report) ? 'CONCLUIDO' : status }
}

/** Writes the report by the layout that Efí publishes, from the book. */
function writeReport(bank: Bank, { day, flags, orderedAt }: Report): string {
  const moved = bank.book.entries.filter(({ kind }) => kind !== 'opening')
  const before = sum(moved.filter(({ at }) => dayOf(new Date(at)) < day))
  const opening = before + bank.settings.openingBalance
  const ofDay = moved.filter(({ at }) => dayOf(new Date(at)) === day)
  const { ownerName } = bank.settings
  const isOrdered = ([type = '']: string[]) =>
    (flags as string[]).includes(FLAGS[type as keyof typeof FLAGS])
  const balances = [
    ['SD0', toReais(opening), dayBefore(day)],
    ['SD1', toReais(opening + sum(ofDay)), day],
  ].filter(isOrdered)
  const records = ofDay.map(entry => writeEntry(bank, entry)).filter(isOrdered)
  const counts = COUNTED.map(types => records.filter(([type]) => types.includes(type ?? '')).length)
  const lines = [
    ['CA', 'Banco de Teste', '364', '1', '517613', ownerName, dayOf(orderedAt), day, TITLE, '1.0'],
    ...balances,
    ...records,
    ['T', records.length, ...counts, ...NO_TRANSFERS],
  ]
  return lines.map(line => `${line.join(';')}\n`).join('')
}

function writeEntry(bank: Bank, entry: Entry): string[] {
  const { at, kind, amount, reference } = entry
  const { pix, payout } = findSubject(bank, reference)
  const value = toReais(Math.abs(amount))
  const protocol = String(FIRST_PROTOCOL + bank.book.entries.indexOf(entry))
  const e2eid = pix?.e2eid ?? payout?.e2eid ?? ''
  const { txid = '', payer, refunds = [] } = pix ?? {}
  const refundId = refunds.find(({ rtrId }) => rtrId === reference)?.id ?? ''
  const { idEnvio = '', payeeKey = '', text = '' } = payout ?? {}
  const fields: Record<Exclude<Entry['kind'], 'opening'>, string[]> = {
    pix: ['PR', protocol, e2eid, txid, value, payer?.cpf ?? payer?.cnpj ?? '', '', ''],
    payout: ['PEC', protocol, e2eid, idEnvio, value, payeeKey, btoa(text), 'API'],
    payout_reversal: ['EPE', protocol, e2eid, value],
    // The layout has no record of a refund that failed.
    refund_reversal: ['EPE', protocol, e2eid, value],
    refund: ['PDE', protocol, e2eid, txid, refundId, reference, value],
    med: ['PDE', protocol, e2eid, txid, refundId, reference, value],
    payout_return: ['PDR', protocol, e2eid, reference, value],
    payment_fee: ['TPR', protocol, e2eid, value],
    payout_fee: ['TPE', protocol, e2eid, value],
  }
  return kind === 'opening' ? [] : [...fields[kind], at]
}

/** Finds the payment or payout of an entry by its own id or that of a return. */
function findSubject({ payments, payouts }: Bank, reference: string) {
  const isReturn = ({ rtrId }: { rtrId: string }) => rtrId === reference
  return {
    pix:
      payments.get(reference) ??
      [...payments.values()].find(({ refunds }) => refunds.some(isReturn)),
    payout:
      payouts.get(reference) ?? [...payouts.values()].find(({ returns }) => returns.some(isReturn)),
  }
}

function sum(entries: Entry[]): number {
  return entries.reduce((total, { amount }) => total + amount, 0)
}

const DAY = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/Sao_Paulo' })

/** Returns the day in Brasília, such as `2026-11-20`. */
function dayOf(moment: Date): string {
  return DAY.format(moment)
}

function dayBefore(day: string): string {
  return new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10)
}
