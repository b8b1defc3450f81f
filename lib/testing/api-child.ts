/** Runs the front without pages and worker, controlled over IPC. Exits with the parent process. */
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { redirectConsole } from '#lib/core/log.ts'
import { startListening } from '#lib/db/wake.ts'
import { createFront } from '#lib/http/front.ts'
import { startStoringRequests } from '#lib/http/request-log.ts'
import type { Measurement } from '#lib/testing/api-process.ts'
import { validateResponses } from '#lib/testing/response-validator.ts'

/**
 * Number of collections: finalizers run after a collection, and the next one frees their garbage.
 */
const GC_RUNS = 6

redirectConsole()
startStoringRequests()
startListening()
const front = await createFront(async (_request, response) => {
  response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}')
})
front.listen(0, '127.0.0.1')
await once(front, 'listening')
const { port } = front.address() as AddressInfo
const headers = { connection: 'close' }
const document = await fetch(`http://127.0.0.1:${port}/api/openapi.json`, { headers })
const listProblems = validateResponses(front, await document.text())
process.on('message', async () => process.send?.(await measure()))
process.on('disconnect', () => process.exit(0))
process.send?.(port)

/** Requires --expose-gc. */
async function measure(): Promise<Measurement> {
  for (let count = 0; count < GC_RUNS; count++) {
    globalThis.gc?.()
    await turn()
  }
  const { heapUsed, external } = process.memoryUsage()
  const connections = await promisify(front.getConnections.bind(front))()
  return { bytes: heapUsed + external, connections, problems: listProblems() }
}
