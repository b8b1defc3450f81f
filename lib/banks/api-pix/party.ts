import { type Fields, textOf } from '#lib/banks/api-pix/json.ts'
import type { Party } from '#lib/banks/gateway.ts'
import { hideTaxIds } from '#lib/core/pix/hide-tax-ids.ts'
import { maskTaxId, taxIdKind } from '#lib/core/pix/tax-id.ts'

/** Longer texts of a bank are cut: a name must never keep a payment from being booked. */
const TEXT_MAX = 200
/** A document that the bank has masked: at most 6 of its digits are readable, as in our own masks. */
const MASKED_DOC = /^(?=.*[*xX•])(?:[^0-9]*[0-9]){0,6}[^0-9]*$/

/** Reads who paid or received; null if there is no name. Names of small companies end with a CPF. */
export function readParty(identity: Fields): Party | null {
  const name = textOf(identity.nome)?.trim()
  if (!name) return null
  const bank = textOf(identity.codigoBanco) ?? textOf(identity.ispb)
  return {
    name: cut(hideTaxIds(name)),
    maskedDoc: maskedDocOf(textOf(identity.cpf) ?? textOf(identity.cnpj)),
    bank: bank && cut(bank),
  }
}

function maskedDocOf(doc: string | null): string | null {
  if (doc === null) return null
  if (taxIdKind(doc)) return maskTaxId(doc)
  return doc.length <= 20 && MASKED_DOC.test(doc) ? doc : null
}

/** By characters, so that none is halved. */
function cut(text: string): string {
  return [...text].slice(0, TEXT_MAX).join('')
}
