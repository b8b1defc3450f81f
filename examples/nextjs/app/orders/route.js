import { createOrder, findOrder, troco } from '../../shop.js'
import { TrocoError } from '../../troco.js'

export async function POST(request) {
  const { name, email, document } = await request.json()
  const { id, amount } = createOrder()
  const buyer = { client_name: name, client_email: email, client_doc: document }
  try {
    // With the order as key, it has one charge, however often the request is repeated.
    await troco.charges.create({ ...buyer, amount, external_id: id }, { key: id })
    // The text of the QR code, and the address of a page that shows it.
    const { br_code, payment_url } = await troco.charges.get(id)
    return Response.json({ id, br_code, payment_url }, { status: 201 })
  } catch (error) {
    // What the buyer can correct, such as a digit of the CPF.
    if (!(error instanceof TrocoError) || error.status !== 422) throw error
    return Response.json({ errors: error.fields }, { status: 422 })
  }
}

export function GET(request) {
  const order = findOrder(new URL(request.url).searchParams.get('id') ?? '')
  return order ? Response.json(order) : new Response(null, { status: 404 })
}
