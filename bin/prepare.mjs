// Updates packages, Node, Prisma client and build. Runs on the installed Node without packages.
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** First version with type stripping, argon2 and WebAssembly module imports. */
const NODE_MIN = [24, 7]
const PROGRESS_INTERVAL_MS = 10_000
/** The current one and the one before. */
const BUILDS_MAX = 2
const FOLDERS_NOT_BUILT = ['lib/db/generated', 'lib/testing']
const LOCK_TOUCH_INTERVAL_MS = 500
const LOCK_STALE_MS = 5_000
/** Of this process: a number of a process may be used again, and in each container. */
const LOCK_OWNER = randomUUID()

/**
 * Runs the outdated steps, the build only if `pages`. Takes no lock if all are up to date. Unless `tests`,
 * only the packages are installed that a server and its build run on.
 */
export async function prepare({ pages, tests = false }) {
  mkdirSync('.cache', { recursive: true })
  // Next rewrites the tsconfig that it reads, so it gets a copy.
  const nextTsconfig = '.cache/tsconfig.next.json'
  if (!existsSync(nextTsconfig))
    writeFileSync(nextTsconfig, '{ "extends": "../tsconfig.json", "include": [] }\n')
  const steps = [() => install(tests), generate, ...(pages ? [build] : [])]
  if (steps.every(step => isUpToDate(step()))) return
  await withLock(async () => {
    for (const step of steps) {
      const target = step()
      if (isUpToDate(target)) continue
      const before = target.isAddition ? readFileSync(target.stamp) : null
      // An interrupted step begins again from nothing.
      rmSync(target.stamp, { force: true })
      await runStep(target).catch(error => {
        // npm leaves the packages as they were.
        if (before !== null) writeFileSync(target.stamp, before)
        throw error
      })
      writeFileSync(target.stamp, target.madeFrom)
    }
  })
}

/** Adds the packages of tests in place: a server may be running on the others. */
function install(tests) {
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm']
  const stamp = 'node_modules/.troco-install'
  const locked = fingerprint(['package-lock.json'])
  const isAddition = tests && isUpToDate({ stamp, madeFrom: locked })
  const how = isAddition ? ['install', '--no-save'] : ['ci']
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund']
  return {
    title: tests ? 'Installing packages, with those of tests' : 'Installing packages',
    stamp,
    isAddition,
    madeFrom: tests ? `${locked} tests` : locked,
    command: () => [...npm, ...how, tests ? '--include=dev' : '--omit=dev', ...flags],
  }
}

function generate() {
  return {
    title: 'Generating the database client',
    stamp: 'lib/db/generated/.made-from',
    madeFrom: fingerprint(['package-lock.json', 'prisma/schema.prisma', 'prisma.config.ts']),
    command: () => [findNode(), 'node_modules/prisma/build/index.js', 'generate'],
    // `generate` only checks that the schema engine exists; any file prevents its download.
    env: () => ({ PRISMA_SCHEMA_ENGINE_BINARY: findNode(), PRISMA_HIDE_UPDATE_MESSAGE: '1' }),
  }
}

/** Each build has its own folder, so that a running server keeps the files it started with. */
function build() {
  const sources = ['app', 'components', 'lib', 'messages', 'public', 'prisma/schema.prisma']
  const settings = ['next.config.js', 'postcss.config.mjs', 'tsconfig.json', 'package.json']
  const compressor = 'bin/prepare.mjs'
  const inputs = [...sources, ...settings, compressor, 'package-lock.json']
  const madeFrom = fingerprint(inputs)
  const folder = join('.next', madeFrom.slice(0, 12))
  process.env.TROCO_BUILD = folder
  return {
    title: 'Building the pages',
    stamp: join(folder, '.made-from'),
    madeFrom,
    command: () => [findNode(), 'node_modules/next/dist/bin/next', 'build'],
    env: () => ({ NEXT_TELEMETRY_DISABLED: '1', NODE_ENV: 'production' }),
    after: () => compressBuild(folder).then(removeOldBuilds),
  }
}

function removeOldBuilds() {
  const builds = readdirSync('.next')
    .filter(name => existsSync(join('.next', name, '.made-from')))
    .map(name => ({ name, at: statSync(join('.next', name, '.made-from')).mtimeMs }))
    .sort((a, b) => b.at - a.at)
  for (const { name } of builds.slice(BUILDS_MAX - 1)) {
    rmSync(join('.next', name), { recursive: true, force: true })
  }
}

function fingerprint(paths) {
  const hash = createHash('sha256').update(`${process.platform} ${process.arch}`)
  const add = path => {
    if (!existsSync(path) || FOLDERS_NOT_BUILT.some(folder => path === join(folder))) return
    if (statSync(path).isDirectory()) {
      for (const name of readdirSync(path).sort()) add(join(path, name))
    } else if (!/\.(test|spec)\.tsx?$/.test(path)) {
      hash.update(`\0${path}\0`).update(readFileSync(path))
    }
  }
  for (const path of paths) add(path)
  return hash.digest('hex')
}

/** The stamp of an installation with the packages of tests begins with that of one without. */
function isUpToDate({ stamp, madeFrom }) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8').startsWith(madeFrom)
}

/** Returns the pinned Node from the packages, or the installed one if it is new enough. */
export function findNode() {
  const pinned = resolve('node_modules/.bin', process.platform === 'win32' ? 'node.exe' : 'node')
  if (existsSync(pinned)) return pinned
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]))
    return process.execPath
  throw new Error(
    `Troco includes no Node for ${process.platform} ${process.arch}: install Node ${NODE_MIN.join('.')} or newer, then try again`,
  )
}

/** Runs a long step, reporting progress; prints its output only if it fails. */
function runStep({ title, command, env = () => ({}), after = () => {} }) {
  const began = Date.now()
  process.stderr.write(`${title}…\n`)
  const progressTimer = setInterval(() => {
    const seconds = Math.round((Date.now() - began) / 1000)
    process.stderr.write(`  still ${title.toLowerCase()}, ${seconds} s\n`)
  }, PROGRESS_INTERVAL_MS)
  return new Promise((resolveStep, rejectStep) => {
    const [program, ...args] = command()
    const stdio = ['ignore', 'pipe', 'pipe']
    const child = spawn(program, args, { stdio, env: { ...process.env, ...env() } })
    let printed = ''
    const collect = chunk => {
      printed = (printed + chunk).slice(-20_000)
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    child.on('error', rejectStep)
    child.on('close', code => {
      clearInterval(progressTimer)
      if (code === 0) return Promise.resolve(after()).then(resolveStep, rejectStep)
      process.stderr.write(printed)
      rejectStep(new Error(`${title} failed: see its output above`))
    })
  })
}

/** The holder touches the lock file; after LOCK_STALE_MS without a touch, the holder is dead. */
async function withLock(work) {
  const lock = '.cache/bootstrap.lock'
  while (!tryLock(lock)) {
    if (isStale(lock)) rmSync(lock, { force: true })
    else await new Promise(done => setTimeout(done, 200))
  }
  // The compression of a build occupies the threads on which asynchronous calls would wait.
  const touchTimer = setInterval(() => touch(lock), LOCK_TOUCH_INTERVAL_MS)
  try {
    await work()
  } finally {
    clearInterval(touchTimer)
    if (isOwn(lock)) rmSync(lock, { force: true })
  }
}

function touch(lock) {
  if (isOwn(lock)) utimesSync(lock, new Date(), new Date())
}

/** A process that was suspended may have lost the lock to another one. */
function isOwn(lock) {
  return existsSync(lock) && readFileSync(lock, 'utf8') === LOCK_OWNER
}

function tryLock(lock) {
  try {
    writeFileSync(lock, LOCK_OWNER, { flag: 'wx' })
    return true
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
}

function isStale(lock) {
  const stats = statSync(lock, { throwIfNoEntry: false })
  return stats !== undefined && Date.now() - stats.mtimeMs > LOCK_STALE_MS
}

// Writes compressed copies beside the files of a build, which lib/http/built-files.ts sends.
/** Fonts and images are compressed already. */
const COMPRESSIBLE = /\.(css|js|json|svg|txt)$/
const BYTES_MIN = 1_024

/** Compresses as well as possible: it takes seconds once, and saves a tenth of each download. */
export async function compressBuild(folder) {
  const files = readdirSync(join(folder, 'static'), { recursive: true, encoding: 'utf8' })
    .filter(name => COMPRESSIBLE.test(name))
    .map(name => join(folder, 'static', name))
    .filter(path => statSync(path).size >= BYTES_MIN)
  await Promise.all(files.map(writeCopies))
}

async function writeCopies(path) {
  const source = readFileSync(path)
  const params = {
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: source.length,
  }
  // Browsers accept brotli over HTTPS only.
  writeFileSync(`${path}.br`, await promisify(brotliCompress)(source, { params }))
  writeFileSync(
    `${path}.gz`,
    await promisify(gzip)(source, { level: constants.Z_BEST_COMPRESSION }),
  )
}
