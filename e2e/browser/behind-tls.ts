import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { env, inheritedEnv } from '#lib/core/settings.ts'
import { makeCertificate } from '#lib/testing/certificate.ts'
import { findFreePort, WITHOUT_LIMITS } from '#lib/testing/server.ts'

export interface TlsServer {
  url: string
  close: () => Promise<void>
}

/**
 * Starts Troco in production mode behind a TLS proxy, on the database of the application under
 * test. Over HTTPS, Troco applies stricter rules than in a local demo.
 */
export async function startBehindTls(settings: Record<string, string> = {}): Promise<TlsServer> {
  const [port, publicPort] = [await findFreePort(), await findFreePort()]
  const url = `https://localhost:${publicPort}`
  const { DATABASE_URL, TROCO_SECRET } = env()
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', 'bin/troco.ts', 'start'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...inheritedEnv(),
        ...WITHOUT_LIMITS,
        DATABASE_URL,
        TROCO_SECRET,
        TROCO_ENV: 'production',
        NODE_ENV: 'production',
        ...{
          PUBLIC_URL: url,
          PORT: String(port),
          TRUST_PROXY: '1',
          WORKER: 'false',
          LOG_LEVEL: 'warn',
        },
        ...settings,
      },
    },
  )
  const ended = once(child, 'exit')
  const proxy = createServer(makeCertificate(['localhost']), (incoming, response) => {
    const { method, url: path, headers } = incoming
    const upstreamRequest = request(
      { host: '127.0.0.1', port, method, path, headers },
      upstreamResponse => {
        response.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.rawHeaders)
        upstreamResponse.pipe(response)
      },
    )
    upstreamRequest.setHeader('x-forwarded-for', incoming.socket.remoteAddress ?? '')
    upstreamRequest.on('error', () => response.destroy())
    incoming.pipe(upstreamRequest)
  })
  proxy.listen(publicPort, 'localhost')
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('The server behind TLS did not start')
    await sleep(100)
  }
  return {
    url,
    async close() {
      proxy.close()
      proxy.closeAllConnections()
      child.kill('SIGTERM')
      await ended
    },
  }
}
