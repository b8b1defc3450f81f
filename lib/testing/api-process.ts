import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inheritedEnv } from '#lib/core/settings.ts'

/**
 * `--no-flush-bytecode`: otherwise V8 drops compiled code (5 MB for Prisma) at random times, which
 * disturbs memory measurements.
 */
const FLAGS = ['--expose-gc', '--no-flush-bytecode', '--disable-warning=ExperimentalWarning']

export interface Measurement {
  /** Heap and external memory after garbage collection. */
  bytes: number
  connections: number
  /** Differences between responses and the OpenAPI document. */
  problems: string[]
}

export interface ApiProcess {
  port: number
  url: string
  measure: () => Promise<Measurement>
  /** Exit code or signal; null while the process runs. */
  exitStatus: () => string | null
  readLog: () => string
  /** Output on stdout and stderr; empty unless the process fails. */
  output: () => string
  close: () => Promise<void>
}

/**
 * Starts the API in its own process, with the run's database and NODE_ENV=production. `cwd`: folder of
 * another version's code.
 */
export async function startApiProcess(
  settings: Record<string, string> = {},
  cwd = process.cwd(),
): Promise<ApiProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'troco-api-'))
  const logFile = join(folder, 'api.log')
  const child = fork('lib/testing/api-child.ts', [], {
    cwd,
    execArgv: FLAGS,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...inheritedEnv(), NODE_ENV: 'production', LOG_FILE: logFile, ...settings },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', chunk => {
      output += chunk
    })
  }
  const ended = once(child, 'exit').then(([code, signal]) => `ended with ${code ?? signal}`)
  const receiveMessage = async <T>() => {
    const received = once(child, 'message').then(([message]) => message as Exclude<T, string>)
    const message = await Promise.race([received, ended])
    if (typeof message === 'string') throw new Error(`The API ${message} and said: ${output}`)
    return message
  }
  const port = await receiveMessage<number>()
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    measure: () => {
      child.send('measure')
      return receiveMessage<Measurement>()
    },
    exitStatus: () => {
      const { exitCode, signalCode } = child
      return exitCode === null && signalCode === null ? null : `${exitCode ?? signalCode}`
    },
    readLog: () => (existsSync(logFile) ? readFileSync(logFile, 'utf8') : ''),
    output: () => output,
    close: async () => {
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
