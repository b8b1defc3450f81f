import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findProgram } from '#lib/testing/debian.ts'

export interface Nginx {
  /** Everything that it logged and printed. */
  output: () => string
  stop: () => Promise<void>
}

interface Setup {
  port: number
  /** Port of Troco, on this machine. */
  trocoPort: number
  /** Paths of PEM files: its own certificate, and the authorities of clients. */
  server: { cert: string; key: string }
  authorities: string
}

/** Starts Debian's nginx in the foreground with the shipped configuration, at loopback ports. */
export async function startNginx(setup: Setup): Promise<Nginx> {
  const program = await findProgram('nginx', ['nginx'])
  if (!program) throw new Error('nginx is missing and cannot be installed')
  const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
  mkdirSync(join(folder, 'temp'))
  const config = join(folder, 'nginx.conf')
  writeFileSync(config, configure(folder, setup))
  const child = spawn(program, ['-p', folder, '-c', config, '-e', join(folder, 'error.log')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', chunk => {
      printed += chunk
    })
  }
  const ended = once(child, 'exit')
  const logs = ['error.log', 'access.log'].map(name => join(folder, name))
  while (!(await isListening(setup.port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended and said: ${printed}`)
    await sleep(20)
  }
  return {
    output: () => [printed, ...logs.map(log => readFileSync(log, 'utf8'))].join('\n'),
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The shipped configuration with the places of this test, and what Debian's nginx.conf adds around it. */
function configure(folder: string, { port, trocoPort, server, authorities }: Setup): string {
  const places: [string, string][] = [
    ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
    ['server 127.0.0.1:3000', `server 127.0.0.1:${trocoPort}`],
    ['/etc/nginx/tls/pay.example.com.pem', server.cert],
    ['/etc/nginx/tls/pay.example.com.key', server.key],
    ['/etc/nginx/tls/banks.pem', authorities],
    ['/var/log/nginx/access.log', join(folder, 'access.log')],
  ]
  const shipped = places.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`examples/nginx.conf does not contain ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync('examples/nginx.conf', 'utf8'),
  )
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    name => `${name}_temp_path ${join(folder, 'temp', name)};`,
  )
  return [
    'daemon off; master_process off;',
    `pid ${join(folder, 'nginx.pid')}; error_log ${join(folder, 'error.log')};`,
    'events { worker_connections 1024; }',
    `http { ${temporary.join(' ')}`,
    shipped,
    '}',
  ].join('\n')
}

function isListening(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
