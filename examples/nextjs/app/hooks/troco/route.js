import { markPaid } from '../../../shop.js'
import { verifyWebhook } from '../../../troco.js'

export async function POST(request) {
  const event = await verifyWebhook(request, process.env.TROCO_WEBHOOK_SECRET).catch(() => null)
  if (!event) return new Response(null, { status: 400 })
  if (event.type === 'transaction.paid') markPaid(event.transaction.external_id)
  return new Response(null, { status: 204 })
}
