import { createServer, type Server, type Socket } from 'node:net'

export interface Listener {
  port: number
  hits(): number
  close(): Promise<void>
}

/** Opens a TCP server whose handler writes raw bytes into each connection. */
export async function openListener(
  handle: (socket: Socket) => void = socket => socket.destroy(),
  host = '127.0.0.1',
  port = 0,
): Promise<Listener> {
  const server = createServer(socket => {
    socket.on('error', () => {})
    handle(socket)
  })
  return listen(server, host, port)
}

/** Starts a server and counts its connections. `close` also closes open connections. */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<Listener> {
  const openSockets = new Set<Socket>()
  let hits = 0
  server.on('connection', (socket: Socket) => {
    hits += 1
    openSockets.add(socket.once('close', () => openSockets.delete(socket)))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  return {
    port: (server.address() as { port: number }).port,
    hits: () => hits,
    close: () => {
      for (const socket of openSockets) socket.destroy()
      return new Promise(resolve => {
        server.close(() => resolve())
      })
    },
  }
}

export interface Canaries {
  port: number
  hitsAt: (host: string) => number
  hits: () => number
  close: () => Promise<void>
}

const HOSTS = ['127.0.0.1', '127.0.0.2', '::1']

/** Opens listeners on three local addresses that count connections and never respond. */
export async function openCanaries(extraPorts: number[] = []): Promise<Canaries> {
  const listeners = await openOnOnePort()
  const extras: Listener[] = []
  for (const port of extraPorts) {
    // Ports that are in use or need root are skipped.
    const extra = await openListener(undefined, '127.0.0.1', port).catch(() => null)
    if (extra) extras.push(extra)
  }
  const all = [...listeners, ...extras]
  return {
    port: listeners[0]?.port ?? 0,
    hitsAt: host => listeners[HOSTS.indexOf(host)]?.hits() ?? 0,
    hits: () => all.reduce((sum, listener) => sum + listener.hits(), 0),
    close: async () => {
      await Promise.all(all.map(listener => listener.close()))
    },
  }
}

async function openOnOnePort(attemptsLeft = 20): Promise<Listener[]> {
  const opened: Listener[] = []
  try {
    for (const host of HOSTS) {
      opened.push(await openListener(undefined, host, opened[0]?.port ?? 0))
    }
    return opened
  } catch (error) {
    await Promise.all(opened.map(listener => listener.close()))
    if (attemptsLeft === 0) throw error
    return openOnOnePort(attemptsLeft - 1)
  }
}
