// Entry point of all npm scripts. Runs on the installed Node (20 or newer), starts the pinned one.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode, prepare } from './prepare.mjs'

/** Read first, because the parent process may exit before the child starts. */
const parent = process.ppid
const grandparent = readParentOf(parent)

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const [command = 'start', ...rest] = process.argv.slice(2)
const commandArgs = command === 'troco' ? rest : [command, ...rest]
/** Poll interval: if the parent process has exited, the child receives SIGTERM. */
const ORPHAN_CHECK_MS = 100
const isTestCommand = ['test', 'verify', 'torture', 'judge'].includes(command)
/**
 * Without these, memory grows by half under load: V8 gives the young generation 134 MB, and the
 * allocator keeps freed blocks of up to 32 MB, such as those of password hashes and large lists.
 */
const MEMORY_FLAGS = '--max-semi-space-size=16'
const ALLOCATOR_SETTINGS = { MALLOC_MMAP_THRESHOLD_: '262144' }
/** Development commands, which bin/troco.ts does not contain. */
const PROGRAMS = {
  test: 'e2e/runner/test.ts',
  verify: 'e2e/runner/test.ts',
  torture: 'e2e/runner/torture.ts',
  judge: 'e2e/psp/judge.ts',
  bench: 'bench/run.ts',
  cluster: 'e2e/cluster/run.ts',
}

try {
  // The test runner builds the pages itself, if a selected test needs them.
  await prepare({
    pages: ['build', 'start', 'torture', 'bench', 'cluster'].includes(commandArgs[0]),
    tests: command in PROGRAMS,
  })
} catch (error) {
  const isReadOnly = ['EROFS', 'EACCES'].includes(error.code)
  const advice = isReadOnly ? '; as a user who may write there, run: npm run build' : ''
  process.stderr.write(`${error.message}${advice}\n`)
  process.exit(1)
}
// After a build, a start writes nothing into this folder but compiled code, if it may.
if (command !== 'build')
  runPinnedNode(findNode(), [PROGRAMS[command] ?? 'bin/troco.ts', ...commandArgs])

/** Exits with the child's status. If this process dies, the closed IPC channel stops the child. */
function runPinnedNode(node, args) {
  const path = resolve('node_modules/.bin') + delimiter + (process.env.PATH ?? '')
  const flags = ['--disable-warning=ExperimentalWarning']
  const child = spawn(node, [...flags, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: {
      ...ALLOCATOR_SETTINGS,
      // Halves the time to load modules, and takes 25 MB less.
      NODE_COMPILE_CACHE: resolve('.cache/compile'),
      ...process.env,
      PATH: path,
      NODE_ENV: nodeEnvOf(commandArgs[0]),
      NODE_OPTIONS: `${MEMORY_FLAGS} ${process.env.NODE_OPTIONS ?? ''}`,
    },
  })
  // npm forwards signals only to its shell, which does not forward them, so the parent is polled.
  setInterval(() => isWanted() || child.kill('SIGTERM'), ORPHAN_CHECK_MS).unref()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

/** Tests end with a killed npm too, which its shell outlives; a server may be started by a script that ends. */
function isWanted() {
  if (process.ppid !== parent) return false
  const isUnderNpm = isTestCommand && process.env.npm_lifecycle_event !== undefined
  return !isUnderNpm || readParentOf(parent) === grandparent
}

/** Returns the parent of a process; null where /proc does not say it. */
function readParentOf(pid) {
  try {
    return /\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? null
  } catch {
    return null
  }
}

function nodeEnvOf(name) {
  return name === 'dev' ? 'development' : isTestCommand ? 'test' : 'production'
}
