import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeScratchFolder } from '#lib/testing/scratch.ts'
import { findFreePort } from '#lib/testing/server.ts'

/** As docs/operate/failover.md shows it. It repeats no request. */
const settingsOf = (port: number, statsPort: number, ports: number[]) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  retries 0
frontend troco
  bind 127.0.0.1:${port}
  default_backend webs
frontend stats
  bind 127.0.0.1:${statsPort}
  stats enable
  stats uri /
backend webs
  balance roundrobin
  timeout check 2s
  option httpchk GET /readyz
  default-server check inter 500ms fall 2 rise 1
${ports.map(each => `  server web${each} 127.0.0.1:${each}`).join('\n')}
`

export interface Haproxy {
  url: string
  /** Returns the ports to which it sends requests. */
  listUp: () => Promise<number[]>
  close: () => Promise<void>
}

export async function startHaproxy(program: string, ports: number[]): Promise<Haproxy> {
  const [port, statsPort] = [await findFreePort(), await findFreePort()]
  const file = join(makeScratchFolder('troco-haproxy-'), 'haproxy.cfg')
  writeFileSync(file, settingsOf(port, statsPort, ports))
  const child = spawn(program, ['-db', '-f', file], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  return {
    url: `http://127.0.0.1:${port}`,
    async listUp() {
      const table = await fetch(`http://127.0.0.1:${statsPort}/;csv`).then(page => page.text())
      return ports.filter(each => new RegExp(`^webs,web${each},.*,UP,`, 'm').test(table))
    },
    async close() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
