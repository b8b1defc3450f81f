// node examples/receiver.mjs <whsec_…> prints what it is told, once the signature is right.
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.argv[2] ?? '')
const port = Number(process.argv[3] ?? 4000)
const known = new Set()

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
  // The same event may come twice: its id says so.
  if (!known.has(event.id)) {
    known.add(event.id)
    const { id, amount } = event.transaction ?? event.withdrawal
    console.log(`${event.type} ${id}: ${amount} cents`)
  }
  response.writeHead(204).end()
})

server.listen(port, '127.0.0.1', () => {
  console.log(`waiting at http://127.0.0.1:${server.address().port}`)
})
