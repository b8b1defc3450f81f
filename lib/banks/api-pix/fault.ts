import { fieldsOf, listOf, textOf } from '#lib/banks/api-pix/json.ts'
import type { ChargeField } from '#lib/banks/gateway.ts'

/** An error response: RFC 7807 as the standard has it, Efí's `nome` and `mensagem`, or OAuth's `error`. */
export interface Fault {
  /** Such as `CobOperacaoInvalida` or `txid_duplicado`; empty if the bank names none. */
  name: string
  /** Paths of the fields that the bank refuses. */
  places: string[]
  /** The bank's sentences, for staff. */
  texts: string[]
  correlationId: string | null
}

export function readFault(body: unknown): Fault {
  const fields = fieldsOf(body)
  const lists = [fields.violacoes, fields.violations, fields.erros, fields.mensagens]
  const details = lists.flatMap(listOf).map(fieldsOf)
  const type = textOf(fields.type)?.split('/').at(-1)
  return {
    name: textOf(fields.nome) ?? type ?? textOf(fields.error) ?? '',
    places: present(details.flatMap(({ propriedade, caminho }) => [propriedade, caminho])),
    texts: present([
      ...[fields.detail ?? fields.title, fields.mensagem, fields.error_description],
      ...details.flatMap(({ razao, mensagem }) => [razao, mensagem]),
    ]),
    correlationId: textOf(fields.correlationId),
  }
}

/** Well above what is stored: a text is cut only after its secrets were replaced. */
const TEXT_MAX = 8_000

/** Returns what staff reads. It omits refused values, which may be a payer's document. */
export function describeFault({ name, places, texts, correlationId }: Fault): string | null {
  const id = correlationId === null ? [] : [`correlationId ${correlationId}`]
  return [name, ...places, ...texts, ...id].filter(Boolean).join('; ').slice(0, TEXT_MAX) || null
}

const CHARGE_FIELDS: [ChargeField, RegExp][] = [
  ['expiry', /expira|calendario/i],
  ['document', /devedor|cpf|cnpj/i],
  ['amount', /valor|original/i],
]

/** Returns the field of a charge that only its creator can change, if the bank names one. */
export function findChargeField({ name, places, texts }: Fault): ChargeField | undefined {
  // The texts of other errors mention fields that are right.
  const where = [...places, ...(name === 'valor_invalido' ? texts : [])]
  return CHARGE_FIELDS.find(([, words]) => where.some(place => words.test(place)))?.[0]
}

function present(values: unknown[]): string[] {
  return values.map(textOf).filter(text => text !== null)
}
