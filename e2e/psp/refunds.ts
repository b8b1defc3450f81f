import { z } from 'zod'
import type { Bank } from './bank.ts'
import { CLIENT_ID_PATTERN, MONEY_PATTERN, makePixId, toCents } from './formats.ts'
import { countUp, isRefusedUnnamed, isTurn } from './habits.ts'
import { announcePix, findPix, renderRefund } from './received.ts'
import type { ReceivedPix, Refund } from './records.ts'
import { Refusal } from './refusal.ts'
import { type Call, type Reply, type Route, readBody, refuseValue } from './route.ts'

export const REFUND_ROUTES: Route[] = [
  { method: 'PUT', path: '/v2/pix/:e2eid/devolucao/:id', scope: 'pix.write', handle: putRefund },
  { method: 'GET', path: '/v2/pix/:e2eid/devolucao/:id', scope: 'pix.read', handle: readRefund },
]

const WINDOW_MS = 90 * 86_400_000
const AMOUNT = z
  .string()
  .regex(MONEY_PATTERN)
  .refine(text => Number(text) > 0, 'more than zero')
const EFI_BODY = z.strictObject({ valor: AMOUNT })
const STANDARD_BODY = EFI_BODY.extend({
  natureza: z.enum(['ORIGINAL', 'RETIRADA']).optional(),
  descricao: z.string().max(140).optional(),
})

function putRefund(bank: Bank, call: Call): Reply {
  const pix = findPix(bank, call)
  const { id = '' } = call.params
  if (!CLIENT_ID_PATTERN.test(id)) refuseValue('refundInvalid', 'id', '1 to 35 letters and digits')
  if (pix.refunds.some(refund => refund.id === id))
    throw new Refusal('refundIdTaken', 'The id has a refund', [
      { reason: 'The id was used by another refund', property: 'id', value: id },
    ])
  const isEfi = bank.settings.kind === 'efi'
  const body: z.infer<typeof STANDARD_BODY> = isEfi
    ? readBody(EFI_BODY, call.body, 'refundInvalid')
    : readBody(STANDARD_BODY, call.body, 'refundInvalid')
  const amount = toCents(body.valor)
  if (amount > refundable(pix))
    refuseValue('refundInvalid', 'valor', 'The refunds would exceed the Pix')
  if (bank.now().getTime() - pix.at.getTime() > WINDOW_MS)
    refuseValue('refundInvalid', 'e2eid', 'The Pix is older than 90 days')
  if (isRefusedUnnamed(bank, `refund ${id}`))
    throw new Refusal('unnamedRefund', 'Refused by a habit of the bank')
  const refund = addRefund(bank, pix, { ...body, id, amount })
  return { status: 201, body: renderResponse(bank, refund) }
}

export function refundable({ amount, refunds }: ReceivedPix): number {
  const returned = refunds.filter(({ status }) => status !== 'NAO_REALIZADO')
  return amount - returned.reduce((sum, refund) => sum + refund.amount, 0)
}

interface Wish {
  id: string
  amount: number
  natureza?: Refund['nature']
  descricao?: string
}

/** Takes the amount from the account at once; a refund that fails gives it back. */
function addRefund(bank: Bank, pix: ReceivedPix, wish: Wish): Refund {
  const requestedAt = bank.now()
  const refund: Refund = {
    id: wish.id,
    rtrId: makePixId('D', requestedAt),
    amount: wish.amount,
    requestedAt,
    nature: wish.natureza ?? 'ORIGINAL',
    description: wish.descricao,
    status: 'EM_PROCESSAMENTO',
  }
  pix.refunds.push(refund)
  if (bank.available >= wish.amount)
    bank.book.add(requestedAt, 'refund', -wish.amount, refund.rtrId)
  bank.settleLater(() => settleRefund(bank, pix, refund))
  return refund
}

export function settleRefund(bank: Bank, pix: ReceivedPix, refund: Refund): void {
  if (refund.status !== 'EM_PROCESSAMENTO') return
  const isCovered = bank.book.has('refund', refund.rtrId)
  const failure = isCovered ? bank.settings.refundFailure : 'Saldo insuficiente'
  refund.settledAt = bank.now()
  refund.status = failure === null ? 'DEVOLVIDO' : 'NAO_REALIZADO'
  if (failure !== null) {
    refund.reason = failure
    if (isCovered) bank.book.add(bank.now(), 'refund_reversal', refund.amount, refund.rtrId)
  }
  announcePix(bank, pix)
}

/** Returns a payment without a request, as the special return mechanism or the bank's own app does. */
export function takeBack(
  bank: Bank,
  pix: ReceivedPix,
  amount: number,
  nature: Refund['nature'] = 'MED_FRAUDE',
): Refund {
  const at = bank.now()
  const rtrId = makePixId('D', at)
  bank.book.add(at, 'med', -amount, rtrId)
  const refund: Refund = {
    id: rtrId,
    rtrId,
    amount,
    nature,
    requestedAt: at,
    settledAt: at,
    status: 'DEVOLVIDO',
  }
  pix.refunds.push(refund)
  announcePix(bank, pix)
  return refund
}

const NATURES = ['MED_OPERACIONAL', 'MED_FRAUDE', 'MED_PIX_AUTOMATICO', 'ORIGINAL'] as const
const SHARES = [[1], [0.4], [0.3, 0.7]]

/** Returns a payment if it is the habit's turn, each time for the next reason. */
export function returnByHabit(bank: Bank, pix: ReceivedPix): void {
  if (!isTurn(bank, 'returnsPayments')) return
  const turn = countUp(bank, 'returned')
  const nature = NATURES[turn % NATURES.length]
  const [share = 1, ...more] = SHARES[turn % SHARES.length] ?? []
  const first = Math.ceil(pix.amount * share)
  bank.settleLater(() => {
    takeBack(bank, pix, first, nature)
    if (more.length > 0) takeBack(bank, pix, pix.amount - first, nature)
  })
}

function readRefund(bank: Bank, call: Call): Reply {
  const refund = findPix(bank, call).refunds.find(({ id }) => id === call.params.id)
  if (!refund) throw new Refusal('refundNotFound', 'There is no refund with this id')
  return { status: 200, body: renderResponse(bank, refund) }
}

function renderResponse(bank: Bank, refund: Refund) {
  const { natureza, descricao, ...plain } = renderRefund(refund)
  return bank.settings.kind === 'efi' ? plain : { ...plain, natureza, descricao }
}
