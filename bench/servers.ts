import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepare } from '#bin/prepare.mjs'
import { inheritedEnv } from '#lib/core/settings.ts'
import { findFreePort } from '#lib/testing/server.ts'

export const VARIANTS = ['fast', 'fastify', 'nothing'] as const
export type Variant = (typeof VARIANTS)[number]

export const TITLES: Record<Variant, string> = {
  fast: 'Troco, through the front',
  fastify: 'Fastify + pg',
  nothing: 'bare node:http',
}

export interface Server {
  variant: Variant
  port: number
  child: ChildProcess
}

const READY_MAX_MS = 30_000
const OUTPUT_MAX = 20_000

const PROGRAMS: Record<Variant, string[]> = {
  fast: ['bin/troco.ts', 'start'],
  fastify: [join(import.meta.dirname, 'reference/fastify.ts')],
  nothing: [join(import.meta.dirname, 'reference/nothing.ts')],
}

const children: ChildProcess[] = []
const outputs = new WeakMap<ChildProcess, string>()

export function trackChild(child: ChildProcess): ChildProcess {
  children.push(child)
  return child
}

/** Kills all children: their data is discarded, so none has to shut down cleanly. */
export async function endChildren(): Promise<void> {
  const living = children.splice(0).filter(child => child.exitCode === null && !child.signalCode)
  const ended = living.map(child => once(child, 'exit'))
  for (const child of living) child.kill('SIGKILL')
  await Promise.all(ended)
}

export async function endChild(child: ChildProcess): Promise<void> {
  const index = children.indexOf(child)
  if (index !== -1) children.splice(index, 1)
  if (child.exitCode !== null || child.signalCode) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

export async function startServer(
  variant: Variant,
  settings: Record<string, string>,
  flags: string[] = [],
): Promise<Server> {
  const port = await findFreePort()
  await prepare({ pages: true })
  const child = startProgram([...flags, ...PROGRAMS[variant]], { ...settings, PORT: String(port) })
  await waitUntilReady(child, TITLES[variant], async () => {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null)
    return response?.ok ?? false
  })
  return { variant, port, child }
}

export async function startWorker(settings: Record<string, string>): Promise<ChildProcess> {
  const child = startProgram(['bin/troco.ts', 'worker'], settings)
  await waitUntilReady(child, 'the worker', async () =>
    outputOf(child).includes('The worker is running'),
  )
  return child
}

function startProgram(args: string[], settings: Record<string, string>): ChildProcess {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    env: { ...inheritedEnv(), ...settings, NODE_ENV: 'production' },
    // The child exits when the channel closes.
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  trackChild(child)
  child.stderr?.on('data', chunk => {
    outputs.set(child, (outputOf(child) + chunk).slice(-OUTPUT_MAX))
  })
  return child
}

async function waitUntilReady(child: ChildProcess, title: string, isReady: () => Promise<boolean>) {
  for (const began = Date.now(); Date.now() - began < READY_MAX_MS; await sleep(50)) {
    if (child.exitCode !== null || child.signalCode) break
    if (await isReady()) return
  }
  throw new Error(`${title} did not start: ${outputOf(child)}`)
}

function outputOf(child: ChildProcess): string {
  return outputs.get(child) ?? ''
}

export function residentMb(child: ChildProcess): number {
  const kilobytes =
    process.platform === 'linux'
      ? /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
      : execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)], { encoding: 'utf8' })
  return Math.round(Number(kilobytes) / 1_024)
}
