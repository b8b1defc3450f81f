import { findCharge } from '#lib/charges/queries.ts'
import { chargeToWire } from '#lib/charges/schema.ts'
import { TrocoError } from '#lib/errors.ts'
import { endpoint } from '#lib/http/endpoint.ts'

export const GET = endpoint({
  allow: 'transactions:read',
  async handle({ account, mode, params }) {
    const charge = await findCharge(account.id, mode, params.id ?? '')
    if (!charge) throw new TrocoError('transaction_not_found', 'Transaction not found')
    return { status: 'success', data: chargeToWire(charge) }
  },
})
