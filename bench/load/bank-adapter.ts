/**
 * Preloaded into a server: replaces its gateway by an adapter without local answers. With `?port=`,
 * each charge is created by a call over HTTP; without, the adapter responds at once.
 */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Gateway } from '#lib/banks/gateway.ts'
import { registerAdapter } from '#lib/banks/served.ts'
import { simulator } from '#lib/banks/simulator.ts'

const port = new URL(import.meta.url).searchParams.get('port')
const agent = new Agent({ keepAlive: true })

const gateway: Gateway = {
  ...simulator,
  name: 'bench bank',
  local: undefined,
  async createCharge(order, signal) {
    if (port !== null) await callBank(order.txid, JSON.stringify(order), signal)
    return simulator.createCharge(order)
  },
}

registerAdapter('simulator', () => gateway)

async function callBank(txid: string, body: string, signal: AbortSignal): Promise<void> {
  const options = { agent, port, host: '127.0.0.1', method: 'PUT', path: `/cob/${txid}`, signal }
  const call = request(options)
  call.end(body)
  const [response] = (await once(call, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
}
