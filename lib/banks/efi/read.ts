import { centsOf, type Fields, fieldsOf, listOf, textOf, timeOf } from '#lib/banks/api-pix/json.ts'
import { readParty } from '#lib/banks/api-pix/read.ts'
import type { Party } from '#lib/banks/gateway.ts'
import type { PayoutReturn } from '#lib/banks/lists.ts'

/** A payout (Pix enviado) as Efí reports it; null is what it does not report. */
export interface BankPayout {
  id: string | null
  endToEndId: string | null
  amount: number | null
  /** Key of the receiver. */
  dictKey: string | null
  status: string | null
  requestedAt: Date | null
  payee: Party | null
  returns: PayoutReturn[]
  /** Returns without a readable id, amount or time. */
  unreadable: number
  /** Whether an id, amount or key is reported that cannot be read. */
  isGarbled: boolean
  failure: { spiCode: string; text: string | null }
}

export function readPayout(body: unknown): BankPayout {
  const fields = fieldsOf(body)
  const receiver = fieldsOf(fields.favorecido)
  const returns = listOf(fields.devolucoes).map(readReturn)
  const failure = fieldsOf(fieldsOf(fields.gnExtras).erro ?? fields.erro)
  const id = textOf(fields.idEnvio)
  const amount = centsOf(fields.valor)
  const dictKey = textOf(receiver.chave)
  return {
    id,
    // Efí's documentation and its SDK disagree about the name.
    endToEndId: textOf(fields.endToEndId) ?? textOf(fields.e2eId),
    amount,
    dictKey,
    status: textOf(fields.status),
    requestedAt: timeOf(fieldsOf(fields.horario).solicitacao),
    payee: readPayee(fields, receiver),
    returns: returns.filter(each => each !== null),
    unreadable: returns.filter(each => each === null).length,
    isGarbled:
      isUnreadable(fields.idEnvio, id) ||
      isUnreadable(fields.valor, amount) ||
      isUnreadable(fields.favorecido, fields.favorecido === receiver ? receiver : null) ||
      isUnreadable(receiver.chave, dictKey),
    failure: {
      spiCode: textOf(failure.codigo) ?? '',
      text: textOf(failure.motivo) ?? textOf(fields.motivo),
    },
  }
}

function isUnreadable(value: unknown, read: unknown): boolean {
  return value !== undefined && value !== null && read === null
}

/** Responses have the identity below `favorecido`, or beside its key; notices below `gnExtras`. */
function readPayee(fields: Fields, receiver: Fields): Party | null {
  const places = [receiver.identificacao, receiver.contaBanco, receiver]
  const all = [...places, fieldsOf(fields.gnExtras).favorecido].map(fieldsOf)
  return all.map(readParty).find(party => party !== null) ?? null
}

function readReturn(value: unknown): PayoutReturn | null {
  const fields = fieldsOf(value)
  const id = textOf(fields.rtrId)
  const amount = centsOf(fields.valor)
  const { liquidacao, solicitacao } = fieldsOf(fields.horario)
  const returnedAt = timeOf(fields.horario) ?? timeOf(liquidacao) ?? timeOf(solicitacao)
  return id && amount && returnedAt ? { id, amount, returnedAt } : null
}

/** Cents of a balance, which may be negative. */
export function centsOfBalance(body: unknown): number | null {
  const { saldo } = fieldsOf(body)
  const [, sign, amount] = /^(-?)(.+)$/.exec(textOf(saldo) ?? '') ?? []
  const cents = centsOf(amount)
  return cents === null ? null : sign === '-' ? 0 - cents : cents
}
