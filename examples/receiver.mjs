// Prints each webhook after checking its signature. The secret may be in TROCO_WEBHOOK_SECRET:
// node examples/receiver.mjs [whsec_…] [port]
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.argv[2] ?? process.env.TROCO_WEBHOOK_SECRET ?? '')
const port = Number(process.argv[3] ?? 4000)
const processed = new Set()

const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  let event
  try {
    event = webhook.verify(Buffer.concat(chunks).toString(), request.headers)
  } catch {
    console.log('refused: the signature does not match')
    response.writeHead(400).end()
    return
  }
  // The same event can arrive more than once. A real receiver stores the ids in its database.
  if (!processed.has(event.id)) {
    processed.add(event.id)
    // The type troco.ping has none of them, and later versions may add others.
    const subject = event.refund ?? event.transaction ?? event.withdrawal
    console.log(subject ? `${event.type} ${subject.id}: ${subject.amount} cents` : event.type)
  }
  response.writeHead(204).end()
})

server.listen(port, '127.0.0.1', () => {
  console.log(`listening at http://127.0.0.1:${server.address().port}`)
})
