import type { Bank } from './bank.ts'
import { isTurn, timeShiftMs } from './habits.ts'
import type { RefusalName } from './refusal.ts'
import { type Call, refuseValue } from './route.ts'

/** RFC 3339 with an offset. */
const TIME_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

interface Listing<T> {
  /** All records that match the filters. */
  records: T[]
  timeOf: (record: T) => Date
  /** Filters that the response repeats. */
  filters: Record<string, unknown>
  refusal: RefusalName
}

/** Selects one page of the records between `inicio` and `fim`, both included, the newest first. */
export function selectPage<T>(bank: Bank, call: Call, listing: Listing<T>) {
  const { refusal, timeOf } = listing
  const { listMs, listPages, listSize, quirks } = bank.settings
  const inicio = readTime(bank, call, 'inicio', refusal)
  const fim = readTime(bank, call, 'fim', refusal)
  if (fim < inicio) refuseValue(refusal, 'fim', 'The end is before the beginning')
  if (listMs !== null && fim - inicio > listMs)
    refuseValue(refusal, 'fim', `At most ${listMs} ms after the beginning`)
  const pageMax = listPages === null ? 1e9 : listPages - 1
  const page = readNumber(call, 'paginacao.paginaAtual', 0, [0, pageMax], refusal)
  const wanted = readNumber(call, 'paginacao.itensPorPagina', 100, [1, 1000], refusal)
  const size = Math.min(wanted, listSize)
  const visibleUntil = bank.now().getTime() - bank.settings.listsBehindMs
  const found = listing.records
    .filter(record => {
      const at = timeOf(record).getTime()
      return at >= inicio && at <= fim && at <= visibleUntil
    })
    .sort((a, b) => timeOf(b).getTime() - timeOf(a).getTime())
  // A record that vanishes after the first page moves the others: one is on no page.
  if (page > 0 && (call.hasShiftedPages || isTurn(bank, 'shiftsPages'))) found.shift()
  const pages = Math.max(1, Math.ceil(found.length / size))
  const paginacao = {
    paginaAtual: page,
    itensPorPagina: size,
    quantidadeDePaginas: quirks.hidesPages ? Math.min(pages, pageMax + 1) : pages,
    quantidadeTotalDeItens: found.length,
  }
  const { query } = call
  const parametros = {
    inicio: query.get('inicio'),
    fim: query.get('fim'),
    paginacao,
    ...listing.filters,
  }
  return { parametros, records: found.slice(page * size, (page + 1) * size) }
}

function readTime(bank: Bank, { query }: Call, name: string, refusal: RefusalName): number {
  const text = query.get(name) ?? ''
  const isKnown = TIME_PATTERN.test(text) && !Number.isNaN(Date.parse(text))
  if (!isKnown) refuseValue(refusal, name, 'A time by RFC 3339 is required')
  if (bank.settings.quirks.refusesMilliseconds && text.includes('.'))
    refuseValue(refusal, name, 'Milliseconds are not accepted')
  return Date.parse(text) + timeShiftMs(bank.settings)
}

function readNumber(
  { query }: Call,
  name: string,
  otherwise: number,
  [min, max]: [number, number],
  refusal: RefusalName,
): number {
  const text = query.get(name)
  if (text === null) return otherwise
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) refuseValue(refusal, name, `From ${min} to ${max}`)
  return value
}

/** Reads an optional filter that is true or false. */
export function readFlag({ query }: Call, name: string, refusal: RefusalName) {
  const text = query.get(name)
  if (text === null) return undefined
  if (text !== 'true' && text !== 'false') refuseValue(refusal, name, 'true or false')
  return text === 'true'
}

/** Reads the filter `cpf` or `cnpj`. A request has at most one of them. */
export function readDocument({ query }: Call, refusal: RefusalName) {
  const cpf = query.get('cpf') ?? undefined
  const cnpj = query.get('cnpj') ?? undefined
  if (cpf && cnpj) refuseValue(refusal, 'cpf', 'Either cpf or cnpj')
  if (cpf && !/^\d{11}$/.test(cpf)) refuseValue(refusal, 'cpf', '11 digits')
  if (cnpj && !/^[0-9A-Z]{14}$/.test(cnpj)) refuseValue(refusal, 'cnpj', '14 characters')
  return { cpf, cnpj }
}
