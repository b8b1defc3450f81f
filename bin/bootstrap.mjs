// The one file that runs on the machine's own Node (20 or newer), before anything is installed:
// it brings packages, the pinned Node, the Prisma client and the build up to date, each only when
// what it is made from has changed, and then runs the command on the pinned Node.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const NODE_MIN = [24, 7]
/** A step that says nothing for this long looks like one that hangs. */
const SIGN_OF_LIFE_MS = 10_000
const BUILDS_KEPT = 2

process.chdir(ROOT)
const [command = 'start', ...rest] = process.argv.slice(2)
const words = command === 'troco' ? rest : [command, ...rest]
const tests = command === 'test' || command === 'verify'

try {
  await locked(async () => {
    await install()
    await generate()
    writeFileSync(
      '.cache/tsconfig.next.json',
      '{ "extends": "../tsconfig.json", "include": ["../app"] }\n',
    )
    if (words[0] === 'start' || words[0] === 'test') await build()
  })
} catch (error) {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
hand(findNode(), [tests ? 'e2e/runner/test.ts' : 'bin/troco.ts', ...words])

async function install() {
  const made = fingerprint(['package.json', 'package-lock.json'])
  if (isMade('node_modules/.troco-install', made)) return
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm']
  await step('Installing packages', [
    ...npm,
    'ci',
    '--include=dev',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
  ])
  writeFileSync('node_modules/.troco-install', made)
}

async function generate() {
  const made = fingerprint(['package-lock.json', 'prisma/schema.prisma', 'prisma.config.ts'])
  if (isMade('lib/db/generated/.made-from', made)) return
  // Generating needs no schema engine, only a file in its place: so nothing is downloaded.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: findNode(), PRISMA_HIDE_UPDATE_MESSAGE: '1' }
  await step(
    'Making the database client',
    [findNode(), 'node_modules/prisma/build/index.js', 'generate'],
    env,
  )
  writeFileSync('lib/db/generated/.made-from', made)
}

/** Each build has a folder of its own, so that a running server keeps the one it started with. */
async function build() {
  const inputs = [
    'app',
    'components',
    'lib',
    'messages',
    'public',
    'next.config.js',
    'postcss.config.mjs',
  ]
  const made = fingerprint([...settings, 'prisma/schema.prisma', ...inputs])
  const folder = join('.next', made.slice(0, 12))
  process.env.TROCO_BUILD = folder
  if (isMade(join(folder, '.made-from'), made)) return
  const env = { NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }
  await step('Building the pages', [findNode(), 'node_modules/next/dist/bin/next', 'build'], env)
  writeFileSync(join(folder, '.made-from'), made)
  removeOldBuilds()
}

function removeOldBuilds() {
  const builds = readdirSync('.next')
    .filter(name => existsSync(join('.next', name, '.made-from')))
    .map(name => ({ name, at: statSync(join('.next', name, '.made-from')).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of builds.slice(BUILDS_KEPT))
    rmSync(join('.next', name), { recursive: true, force: true })
}

/** What a step is made from, in one line: names and contents of every file. */
function fingerprint(paths) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  const add = path => {
    if (!existsSync(path)) return
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) if (name !== 'generated') add(join(path, name))
    } else if (!/\.(test|spec)\.tsx?$/.test(path)) {
      hash.update(`\0${path}\0`).update(readFileSync(path))
    }
  }
  for (const path of paths) add(path)
  return hash.digest('hex')
}

function isMade(stamp, made) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === made
}

/** The pinned Node that came with the packages, or the machine's own where it is new enough. */
function findNode() {
  const pinned = join(
    ROOT,
    'node_modules',
    '.bin',
    process.platform === 'win32' ? 'node.exe' : 'node',
  )
  if (existsSync(pinned)) return pinned
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]))
    return process.execPath
  throw new Error(
    `Troco brings no Node for ${process.platform} ${process.arch}: install Node ${NODE_MIN.join('.')} or newer, then start again`,
  )
}

/** Runs one long step, says that it lives, and shows what it printed only when it failed. */
function step(title, [program, ...args], env = {}) {
  const began = Date.now()
  process.stderr.write(`${title}…\n`)
  const alive = setInterval(() => {
    process.stderr.write(
      `  still ${title.toLowerCase()}, ${Math.round((Date.now() - began) / 1000)} s\n`,
    )
  }, SIGN_OF_LIFE_MS)
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    let printed = ''
    const keep = chunk => {
      printed = (printed + chunk).slice(-20_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', reject)
    child.on('close', code => {
      clearInterval(alive)
      if (code === 0) return resolve()
      process.stderr.write(printed)
      reject(new Error(`${title} failed: what it printed stands above`))
    })
  })
}

/** One bootstrap at a time in this checkout; the lock of one that was killed is taken over. */
async function locked(work) {
  mkdirSync('.cache', { recursive: true })
  const lock = '.cache/bootstrap.lock'
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' })
      break
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      const holder = existsSync(lock) ? Number(readFileSync(lock, 'utf8')) : 0
      if (holder && isAlive(holder)) await new Promise(resolve => setTimeout(resolve, 200))
      else rmSync(lock, { force: true })
    }
  }
  try {
    await work()
  } finally {
    rmSync(lock, { force: true })
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/**
 * Hands over to the pinned Node and ends as it ends. The open channel is how it learns that we were
 * killed: then it stops by itself, the database last.
 */
function hand(node, args) {
  const path = join(ROOT, 'node_modules', '.bin') + delimiter + (process.env.PATH ?? '')
  const flags = ['--disable-warning=ExperimentalWarning']
  const child = spawn(node, [...flags, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, PATH: path, NODE_ENV: process.env.NODE_ENV ?? nodeEnvOf(words[0]) },
  })
  const parent = process.ppid
  // npm that is killed takes nobody with it, so we look whether it still lives.
  setInterval(() => process.ppid === parent || child.kill('SIGTERM'), 1_000).unref()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)))
}

function nodeEnvOf(name) {
  return name === 'dev' ? 'development' : tests ? 'test' : 'production'
}
