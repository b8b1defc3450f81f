import { execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { formatSecondsSince, pickSize, recordFigures } from '#e2e/torture/figures.ts'
import { env } from '#lib/core/settings.ts'
import { findProgram, installPackages } from '#lib/testing/debian.ts'
import { CHARGE, expectBalancedLedger, makeMerchant, makeToken } from '#lib/testing/fixtures.ts'
import { findFreePort, WITHOUT_LIMITS } from '#lib/testing/server.ts'

const run = promisify(execFile)
const BASE = 'localhost/troco-test-base'
const IMAGE = 'localhost/troco-test'
const MIB = 2 ** 20
const IMAGE_MAX = 250 * MIB
const MEMORY_MAX_MIB = 384
const CALLERS = 40
const CHARGES = 4_000
const LOAD_OPTIONS = { maxBuffer: 64 * MIB }
/** By number, because the defaults of Podman exceed what a root without all capabilities may set. */
const LIMITS = ['--ulimit', 'nofile=20000:20000']
const PACKAGES = ['podman', 'buildah', 'runc', 'mmdebstrap', 'uidmap']

/** Only in `npm run torture`, and only as root on Debian: there is no registry of images. */
const isPossible =
  pickSize(0, 1) === 1 &&
  (await installPackages(PACKAGES)) &&
  (await findProgram('podman', ['podman'])) !== null

test('the image has the settings of memory that the start command has', () => {
  const image = readFileSync('Containerfile', 'utf8')
  const bootstrap = readFileSync('bin/bootstrap.mjs', 'utf8')
  const [, flags] = /MEMORY_FLAGS = '(.*)'/.exec(bootstrap) ?? []
  const [, name, value] = /ALLOCATOR_SETTINGS = \{ (\w+): '(\d+)' \}/.exec(bootstrap) ?? []
  expect(image).toContain(`NODE_OPTIONS="${flags} `)
  expect(image).toContain(`${name}=${value}`)
})

describe.skipIf(!isPossible)('a container of the image', () => {
  const containers: string[] = []
  let settings: Record<string, string>
  beforeAll(async () => {
    await makeBase()
    const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    mkdirSync(cache, { recursive: true })
    const options = ['--isolation', 'chroot', '--network', 'host', ...LIMITS]
    const volume = ['--volume', `${cache}:/root/.npm`]
    const build = ['build', ...options, ...volume, '--build-arg', `BASE=${BASE}`, '--tag', IMAGE]
    await run('buildah', [...build, '.'], LOAD_OPTIONS)
    const port = await findFreePort()
    settings = {
      DATABASE_URL: env().DATABASE_URL ?? '',
      TROCO_SECRET: env().TROCO_SECRET ?? '',
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      PORT: `${port}`,
      HOST: '127.0.0.1',
      MIGRATE: 'false',
      WORKER: 'false',
      DRAIN_SECONDS: '1',
      ...WITHOUT_LIMITS,
    }
  }, 1_800_000)
  afterAll(async () => {
    for (const name of containers) await run('podman', ['rm', '--force', name]).catch(() => {})
  })

  test('is small, runs on a root that it cannot write, within 384 MB, and ends by itself', async () => {
    const { stdout } = await run('podman', ['image', 'inspect', '--format', '{{.Size}}', IMAGE])
    expect(Number(stdout)).toBeLessThanOrEqual(IMAGE_MAX)
    const merchant = await makeMerchant()
    const token = await makeToken(merchant.id)
    const began = Date.now()
    const [web, worker] = [await start('start'), await start('worker')]
    await expect.poll(() => isReady(), { timeout: 120_000 }).toBe(true)
    const startUp = formatSecondsSince(began)
    for (const path of ['/login', '/docs/en/index', '/api/openapi.json'])
      expect((await fetch(settings.PUBLIC_URL + path)).status, path).toBeLessThan(500)
    await createCharges(token)
    await expectBalancedLedger(merchant.id)
    const memory = [web, worker].map(readPeak)
    for (const peak of memory) expect(peak).toBeLessThan(MEMORY_MAX_MIB)
    const stopped = Date.now()
    expect(await stop(web)).toBe(0)
    const stopTime = formatSecondsSince(stopped)
    expect(await stop(worker)).toBe(0)
    recordFigures('container', {
      'image MiB': Math.round(Number(stdout) / MIB),
      'ready after': startUp,
      'web and worker MiB': memory.join(' and '),
      'web stopped after': stopTime,
    })
  })

  async function start(command: string): Promise<string> {
    const flags = ['--detach', '--network', 'host', '--read-only', '--read-only-tmpfs=false']
    const limits = ['--cap-drop', 'all', '--security-opt', 'no-new-privileges', ...LIMITS]
    const memory = ['--memory', `${MEMORY_MAX_MIB}m`, '--ulimit', 'nproc=4000:4000']
    const variables = Object.entries(settings).flatMap(([name, value]) => [
      '--env',
      `${name}=${value}`,
    ])
    const args = ['run', ...flags, ...limits, ...memory, ...variables, IMAGE, command]
    // Not crun: it refuses machines that have both versions of cgroups.
    const { stdout } = await run('podman', ['--runtime', 'runc', ...args])
    containers.push(stdout.trim())
    return stdout.trim()
  }

  async function stop(name: string): Promise<number> {
    await run('podman', ['stop', '--time', '25', name])
    const { stdout } = await run('podman', ['inspect', '--format', '{{.State.ExitCode}}', name])
    return Number(stdout)
  }

  async function isReady(): Promise<boolean> {
    const response = await fetch(`${settings.PUBLIC_URL}/readyz`).catch(() => null)
    return response?.ok ?? false
  }

  async function createCharges(token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(CHARGE) }
    let left = CHARGES
    const call = async () => {
      while (left-- > 0) {
        const response = await fetch(`${settings.PUBLIC_URL}/api/transactions`, request)
        expect(response.status).toBeLessThan(300)
        await response.text()
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, call))
  }
})

/** Highest memory of a container in MiB, from the cgroup of its first process. */
function readPeak(name: string): number {
  const inspect = ['inspect', '--format', '{{.State.Pid}}', name]
  const pid = execFileSync('podman', inspect, { encoding: 'utf8' }).trim()
  const lines = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n')
  const [, old] = /:memory:(.*)/.exec(lines.join('\n')) ?? []
  const unified = lines.find(line => line.startsWith('0::'))?.slice(3) ?? ''
  const file = old
    ? join('/sys/fs/cgroup/memory', old, 'memory.max_usage_in_bytes')
    : join('/sys/fs/cgroup', unified, 'memory.peak')
  return Math.round(Number(readFileSync(file, 'utf8')) / MIB)
}

/** Makes the base of Debian's packages, with this machine's npm and the pinned Node. */
async function makeBase(): Promise<void> {
  const archive = resolve('.cache/container-base.tar')
  const npm = join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm')
  const modules = '/usr/local/lib/node_modules'
  const hooks = [
    `mkdir -p "$1${modules}"`,
    `cp ${process.execPath} "$1/usr/local/bin/node"`,
    `cp -R ${npm} "$1${modules}/npm"`,
    'ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/usr/local/bin/npm"',
  ].map(hook => `--customize-hook=${hook}`)
  const excluded = ['exclude=/usr/share/doc/*', 'include=/usr/share/doc/*/copyright']
  const options = excluded.map(rule => `--dpkgopt=path-${rule}`)
  const debian = ['--mode=root', '--variant=essential', '--include=libstdc++6', ...options]
  if (!existsSync(archive))
    await run('mmdebstrap', [...debian, ...hooks, 'bookworm', archive], LOAD_OPTIONS).catch(
      error => {
        rmSync(archive, { force: true })
        throw error
      },
    )
  await run('podman', ['import', archive, BASE], LOAD_OPTIONS)
}
