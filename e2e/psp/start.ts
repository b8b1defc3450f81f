import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Certificates, shareCertificates } from './certificates.ts'
import type { COMMANDS } from './commands.ts'
import type { Settings } from './settings.ts'

type Commands = typeof COMMANDS
type Input<Name extends keyof Commands> = Parameters<Commands[Name]>[1]
/** Type of a result after JSON: times are text. */
type Json<T> = T extends Date ? string : T extends object ? { [Name in keyof T]: Json<T[Name]> } : T

interface Ready {
  folder: string
  port: number
  controlPort: number
  /** Port of HTTPS to Troco; null without the setting `troco`. */
  trocoPort: number | null
  certificates: Certificates
  keys: string[]
  clientId: string
  clientSecret: string
}

export interface RunningBank extends Ready {
  /** Beginning of every address, such as `https://127.0.0.1:41234`. */
  url: string
  run<Name extends keyof Commands>(
    command: Name,
    ...input: undefined extends Input<Name> ? [] : [Input<Name>]
  ): Promise<Json<Awaited<ReturnType<Commands[Name]>>>>
  stop(): Promise<void>
}

/**
 * Starts the bank as a process, which ends with this one. In a given folder, it starts as by hand: with
 * the certificates of the folder, which stays.
 */
export async function startBank(
  settings: Partial<Settings> = {},
  { folder: given }: { folder?: string } = {},
): Promise<RunningBank> {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'bank-'))
  const program = fileURLToPath(new URL('main.ts', import.meta.url))
  // A key belongs to one bank account.
  const own = given ? settings : { keys: [randomUUID()], ...settings }
  const certificates = given ? [] : [JSON.stringify(shareCertificates())]
  const input = [JSON.stringify(own), folder, ...certificates]
  const args = ['--disable-warning=ExperimentalWarning', program, ...input]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(child, 'exit').finally(
    () => given ?? rmSync(folder, { recursive: true, force: true }),
  )
  const line = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    ended.then(([code]) => Promise.reject(new Error(`The bank ended with ${code}`))),
  ])
  const ready: Ready = JSON.parse(line[0])
  return {
    ...ready,
    url: `https://127.0.0.1:${ready.port}`,
    async run(command, ...input) {
      const response = await fetch(`http://127.0.0.1:${ready.controlPort}/${command}`, {
        method: 'POST',
        body: JSON.stringify(input[0] ?? {}),
      })
      const body = await response.json()
      if (!response.ok) throw new Error(body.error)
      return body
    },
    async stop() {
      child.stdin.end()
      await ended
    },
  }
}
