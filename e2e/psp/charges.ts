import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Bank } from './bank.ts'
import { buildDynamicCode } from './br-code.ts'
import { MONEY_PATTERN, makeHexId, TXID_PATTERN } from './formats.ts'
import { readDocument, readFlag, selectPage } from './lists.ts'
import { addLocation, HOST, renderLocation } from './locations.ts'
import { renderPix } from './received.ts'
import type { Charge, ChargeTerms, Location } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody, refuseValue } from './route.ts'

export const CHARGE_ROUTES: Route[] = [
  { method: 'PUT', path: '/v2/cob/:txid', scope: 'cob.write', handle: putCharge },
  { method: 'PATCH', path: '/v2/cob/:txid', scope: 'cob.write', handle: patchCharge },
  { method: 'GET', path: '/v2/cob/:txid', scope: 'cob.read', handle: readCharge },
  { method: 'POST', path: '/v2/cob', scope: 'cob.write', handle: postCharge },
  { method: 'GET', path: '/v2/cob', scope: 'cob.read', handle: listCharges },
]

const CALENDAR = z.strictObject({ expiracao: z.int().positive() })
const AMOUNT = z.strictObject({
  original: z
    .string()
    .regex(MONEY_PATTERN)
    .refine(text => Number(text) > 0, 'more than zero'),
  modalidadeAlteracao: z.union([z.literal(0), z.literal(1)]).optional(),
})
const DEBTOR = z
  .strictObject({
    cpf: z
      .string()
      .regex(/^\d{11}$/)
      .optional(),
    cnpj: z
      .string()
      .regex(/^[0-9A-Z]{14}$/)
      .optional(),
    nome: z.string().min(1).max(200),
  })
  .refine(({ cpf, cnpj }) => (cpf === undefined) !== (cnpj === undefined), 'one document')
const TEXTS = {
  chave: z.string().min(1).max(77),
  solicitacaoPagador: z.string().max(140).optional(),
  infoAdicionais: z
    .array(z.strictObject({ nome: z.string().max(50), valor: z.string().max(200) }))
    .max(50)
    .optional(),
}
const LOCATION = z.strictObject({ id: z.int(), tipoCob: z.literal('cob').optional() })
const CHARGE_BODY = z.strictObject({
  calendario: CALENDAR,
  devedor: DEBTOR.optional(),
  valor: AMOUNT,
  loc: LOCATION.optional(),
  ...TEXTS,
})
const CHANGE_BODY = CHARGE_BODY.partial().extend({
  status: z.literal('REMOVIDA_PELO_USUARIO_RECEBEDOR').optional(),
})

/** Creates a charge. The standard lets the same call revise one; Efí refuses any reuse of a txid. */
function putCharge(bank: Bank, { params, body }: Call): Reply {
  const { txid = '' } = params
  if (!TXID_PATTERN.test(txid)) refuseValue('chargeInvalid', 'txid', '26 to 35 letters and digits')
  const { loc, ...terms } = readBody(CHARGE_BODY, body, 'chargeInvalid')
  checkTerms(bank, terms)
  const existing = bank.charges.get(txid)
  if (!existing) return { status: 201, body: createCharge(bank, txid, terms, loc?.id) }
  if (bank.settings.kind === 'efi' || existing.status !== 'ATIVA')
    throw new Refusal('txidTaken', 'The txid has a charge', [
      { reason: 'The charge exists and cannot be changed', property: 'txid', value: txid },
    ])
  revise(existing, terms)
  return { status: 201, body: renderCharge(bank, existing) }
}

function postCharge(bank: Bank, { body }: Call): Reply {
  const { loc, ...terms } = readBody(CHARGE_BODY, body, 'chargeInvalid')
  checkTerms(bank, terms)
  return { status: 201, body: createCharge(bank, makeHexId(), terms, loc?.id) }
}

function createCharge(bank: Bank, txid: string, terms: ChargeTerms, locationId?: number) {
  const location = locationId === undefined ? addLocation(bank, 'cob') : pick(bank, locationId)
  location.txid = txid
  const createdAt = bank.now()
  const charge: Charge = {
    txid,
    createdAt,
    status: 'ATIVA',
    revisions: [terms],
    location,
    payments: [],
  }
  bank.charges.set(txid, charge)
  return renderCharge(bank, charge)
}

function pick(bank: Bank, id: number): Location {
  const location = bank.locations.get(id)
  const isFree = location?.tipoCob === 'cob' && location.txid === undefined
  return isFree ? location : refuseValue('chargeInvalid', 'loc.id', 'No free location of a cob')
}

function checkTerms(bank: Bank, { chave, devedor }: Partial<ChargeTerms>): void {
  const { settings } = bank
  if (settings.isAccountBlocked) throw new Refusal('accountBlocked', 'The account is blocked')
  if (chave !== undefined && !settings.keys.includes(chave))
    refuseValue('chargeKeyInvalid', 'chave', 'The key does not belong to this account')
  if (settings.kind === 'efi' && /[A-Z]/.test(devedor?.cnpj ?? ''))
    refuseValue('chargeInvalid', 'devedor.cnpj', '14 digits')
}

function patchCharge(bank: Bank, call: Call): Reply {
  const charge = findCharge(bank, call)
  const { status, loc, ...changes } = readBody(CHANGE_BODY, call.body, 'chargeInvalid')
  if (charge.status !== 'ATIVA') throw new Refusal('chargeNotActive', 'The charge is not ATIVA')
  if (status !== undefined) {
    if (loc || Object.keys(changes).length > 0)
      refuseValue('chargeInvalid', 'status', 'A removal has no other changes')
    charge.status = status
  } else {
    checkTerms(bank, changes)
    if (loc) charge.location = pick(bank, loc.id)
    revise(charge, { ...termsOf(charge), ...changes })
  }
  return { status: 200, body: renderCharge(bank, charge) }
}

function revise(charge: Charge, terms: ChargeTerms): void {
  if (!isDeepStrictEqual(termsOf(charge), terms)) charge.revisions.push(terms)
}

export function termsOf(charge: Charge): ChargeTerms {
  return charge.revisions.at(-1) as ChargeTerms
}

function findCharge(bank: Bank, { params }: Call): Charge {
  const charge = bank.charges.get(params.txid ?? '')
  if (!charge) throw new Refusal('chargeNotFound', 'There is no charge with this txid')
  return charge
}

function readCharge(bank: Bank, call: Call): Reply {
  const charge = findCharge(bank, call)
  const wanted = Number(call.query.get('revisao') ?? charge.revisions.length - 1)
  if (!charge.revisions[wanted])
    refuseValue('chargeQueryInvalid', 'revisao', 'There is no such revision')
  // Efí's responses about one charge leave out the key of its payments; those of lists have it.
  const pix = renderPayments(bank, charge)?.map(({ chave, ...payment }) =>
    bank.settings.kind === 'efi' ? payment : { ...payment, chave },
  )
  return { status: 200, body: { ...renderCharge(bank, charge, wanted), pix } }
}

function listCharges(bank: Bank, call: Call): Reply {
  const refusal = 'chargeQueryInvalid'
  const { cpf, cnpj } = readDocument(call, refusal)
  const status = call.query.get('status') ?? undefined
  const hasLocation = readFlag(call, 'locationPresente', refusal)
  const { parametros, records } = selectPage(bank, call, {
    records: [...bank.charges.values()].filter(charge => {
      const { devedor } = termsOf(charge)
      const isDebtor = (!cpf || devedor?.cpf === cpf) && (!cnpj || devedor?.cnpj === cnpj)
      return isDebtor && (!status || charge.status === status) && hasLocation !== false
    }),
    timeOf: ({ createdAt }) => createdAt,
    filters: { cpf, cnpj, status, locationPresente: hasLocation },
    refusal,
  })
  const cobs = records.map(charge => ({
    ...renderCharge(bank, charge),
    pix: renderPayments(bank, charge),
  }))
  return { status: 200, body: { parametros, cobs } }
}

function renderPayments(bank: Bank, { payments }: Charge) {
  if (payments.length === 0) return undefined
  return payments.map(pix => renderPix(bank, pix, false))
}

function renderCharge(bank: Bank, charge: Charge, revisao = charge.revisions.length - 1) {
  const { txid, createdAt, status, location } = charge
  const { calendario, ...terms } = charge.revisions[revisao] as ChargeTerms
  return {
    calendario: { criacao: createdAt.toISOString(), ...calendario },
    txid,
    revisao,
    loc: renderLocation(location),
    location: location.location,
    status,
    ...terms,
    pixCopiaECola: codeOf(bank, location),
  }
}

function codeOf(bank: Bank, { location }: Location): string {
  const { ownerName, ownerCity, quirks } = bank.settings
  const shown = quirks.code === 'contradicting' ? `${HOST}/qr/v2/${makeHexId()}` : location
  return buildDynamicCode(shown, ownerName, ownerCity)
}
