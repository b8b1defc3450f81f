import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { COMMANDS, type Stage } from './commands.ts'

type Command = (stage: Stage, input: unknown) => unknown

/** Serves `POST /<command>` with JSON; returns the port. */
export async function openControl(stage: Stage, port: number): Promise<number> {
  const server = createServer(async (request, response) => {
    const { status, body } = await run(stage, request)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(body ?? null))
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

async function run(stage: Stage, request: IncomingMessage) {
  try {
    const text = Buffer.concat(await request.toArray()).toString()
    const command = (COMMANDS as Record<string, Command>)[request.url?.slice(1) ?? '']
    if (!command) return { status: 404, body: { error: 'Unknown command' } }
    return { status: 200, body: await command(stage, JSON.parse(text || '{}')) }
  } catch (error) {
    return { status: 422, body: { error: (error as Error).message } }
  }
}
