import { once } from 'node:events'
import { createServer } from 'node:http'
import { OUTSIDE } from '#e2e/cluster/network.ts'

const PORT = 8080

export interface WebhookReceiver {
  url: string
  /** Ids of all events that were received. */
  ids: ReadonlySet<string>
}

/** Opens the receiver of a merchant, outside of the installation. */
export async function openWebhookReceiver(): Promise<WebhookReceiver> {
  const ids = new Set<string>()
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      ids.add(String(request.headers['webhook-id']))
      response.writeHead(200).end()
    })
  })
  server.listen(PORT, OUTSIDE.address)
  await once(server, 'listening')
  return { url: `http://${OUTSIDE.name}:${PORT}/webhooks`, ids }
}
