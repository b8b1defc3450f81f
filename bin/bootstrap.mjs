// The one command behind every npm script. It runs on the machine's own Node (20 or newer) and
// hands over to the pinned one.
import { spawn } from 'node:child_process'
import { delimiter, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode, prepare } from './prepare.mjs'

/** Read before anything takes time: whoever started us may be gone when we are ready. */
const parent = process.ppid

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))))
const [command = 'start', ...rest] = process.argv.slice(2)
const commandArgs = command === 'troco' ? rest : [command, ...rest]
/** An orphan stops at once, as if the signal had reached it. */
const ORPHAN_CHECK_MS = 100
const tests = ['test', 'verify', 'torture'].includes(command)
/** What is not a command of the product's own. */
const PROGRAMS = {
  test: 'e2e/runner/test.ts',
  verify: 'e2e/runner/test.ts',
  torture: 'e2e/runner/torture.ts',
  bench: 'bench/run.ts',
}

try {
  // The test runner asks for the pages itself, once it knows which tests need them.
  await prepare({ pages: ['start', 'torture', 'bench'].includes(commandArgs[0]) })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
handOver(findNode(), [PROGRAMS[command] ?? 'bin/troco.ts', ...commandArgs])

/**
 * Hands over to the pinned Node and ends as it ends. The open channel is how it learns that we were
 * killed: then it stops by itself, the database last.
 */
function handOver(node, args) {
  const path = resolve('node_modules/.bin') + delimiter + (process.env.PATH ?? '')
  const flags = ['--disable-warning=ExperimentalWarning']
  const child = spawn(node, [...flags, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: path, NODE_ENV: nodeEnvOf(commandArgs[0]) },
  })
  // npm passes a signal to its shell only, and the shell to nobody: so we look whether it lives.
  setInterval(() => process.ppid === parent || child.kill('SIGTERM'), ORPHAN_CHECK_MS).unref()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

function nodeEnvOf(name) {
  return name === 'dev' ? 'development' : tests ? 'test' : 'production'
}
