import { execSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

interface LockEntry {
  version?: string
  integrity?: string
}

interface Bom {
  bomFormat: string
  specVersion: string
  components: { 'bom-ref': string; hashes?: { alg: string }[] }[]
}

const { workspaces } = JSON.parse(readFileSync('package.json', 'utf8')) as { workspaces: string[] }
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
/** Entries of packages from the registry: not the project, its workspaces and the links to them. */
const entries = Object.entries<LockEntry & { link?: boolean }>(lock.packages)
  .filter(([path, { link }]) => path !== '' && !workspaces.includes(path) && !link)
  .map(([path, entry]) => ({ name: path.split('node_modules/').at(-1) ?? '', ...entry }))

test('every package of the lock file has a SHA-512 hash', () => {
  const unhashed = entries.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(unhashed).toEqual([])
})

/** Older versions of npm repeat components, which CycloneDX does not allow. */
const NPM_OLDEST = '11.5.0'
const npmVersion = execSync('npm --version', { encoding: 'utf8' }).trim()
const isNpmOld = npmVersion.localeCompare(NPM_OLDEST, 'en', { numeric: true }) < 0

test.skipIf(isNpmOld)('the documented command lists every package once, offline', () => {
  const page = readFileSync('docs/operating.md', 'utf8')
  const [command = '', target = ''] = (/^npm sbom .*$/m.exec(page)?.[0] ?? '').split(' > ')
  expect(target).toBe('sbom.json')
  const env = { ...process.env, npm_config_offline: 'true' }
  const text = execSync(command, { encoding: 'utf8', env, maxBuffer: 2 ** 26 })
  const bom = JSON.parse(text) as Bom
  expect([bom.bomFormat, bom.specVersion]).toEqual(['CycloneDX', '1.5'])
  const listed = bom.components.map(component => component['bom-ref'])
  const expected = new Set(entries.map(({ name, version }) => `${name}@${version}`))
  expect(listed.filter(ref => !ref.startsWith('troco-client@')).sort()).toEqual(
    [...expected].sort(),
  )
  const unhashed = bom.components.filter(({ hashes }) => hashes?.[0]?.alg !== 'SHA-512')
  expect(unhashed).toHaveLength(workspaces.length)
})
