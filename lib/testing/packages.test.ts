import { execSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
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

interface Manifest {
  workspaces: string[]
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
  optionalDependencies: Record<string, string>
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const { workspaces } = manifest
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'))
/** Entries of packages from the registry: not the project, its workspaces and the links to them. */
const entries = Object.entries<LockEntry & { link?: boolean }>(lock.packages)
  .filter(([path, { link }]) => path !== '' && !workspaces.includes(path) && !link)
  .map(([path, entry]) => ({ name: path.split('node_modules/').at(-1) ?? '', ...entry }))

test('every package of the lock file has a SHA-512 hash', () => {
  const unhashed = entries.filter(({ integrity }) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(unhashed).toEqual([])
})

test('every version is exact, and the lock file contains no registry URL', () => {
  const client = JSON.parse(readFileSync('e2e/client/package.json', 'utf8')) as Manifest
  const versions = Object.entries({
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
    ...client.devDependencies,
  })
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([])
  // Only workspaces are resolved to a path, which is a folder of the repository.
  const resolvedPaths = Object.values<{ resolved?: string }>(lock.packages).map(
    entry => entry.resolved,
  )
  expect(resolvedPaths.filter(path => path !== undefined)).toEqual(manifest.workspaces)
})

/** Older versions of npm repeat components, which CycloneDX does not allow. */
const NPM_OLDEST = '11.5.0'
const npmVersion = execSync('npm --version', { encoding: 'utf8' }).trim()
const isNpmOld = npmVersion.localeCompare(NPM_OLDEST, 'en', { numeric: true }) < 0

test.skipIf(isNpmOld)('the documented command lists every package once, offline', () => {
  const page = readFileSync('docs/operate/security.md', 'utf8')
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

const PAGES = globSync(['*.md', 'docs/**/*.md', 'examples/**/*.*'])

test('no documented command runs a package that it would first download from the registry', () => {
  const runs = PAGES.flatMap(page =>
    [
      ...readFileSync(page, 'utf8').matchAll(
        /\b(?:npx|bunx|npm (?:x|exec|create|init)|\w+ dlx)\b.*/g,
      ),
    ].map(([command]) => `${page}: ${command}`),
  )
  expect(runs.length).toBeGreaterThan(2)
  const isInstalledOnly = /: (?:npx --no-install|npm exec --no --) /
  expect(runs.filter(run => !isInstalledOnly.test(run))).toEqual([])
})

test.each(['en', 'pt-BR'])(
  'the guides in %s install packages in exactly the versions that the tests use',
  locale => {
    const client = JSON.parse(readFileSync('e2e/client/package.json', 'utf8')) as Manifest
    const versions = { ...manifest.devDependencies, ...client.devDependencies }
    const installed = globSync(`docs/guides/${locale}/*.md`).flatMap(page =>
      [...readFileSync(page, 'utf8').matchAll(/npm install ([^`\n]+)/g)]
        .flatMap(([, words = '']) => words.split(' '))
        .filter(word => !word.startsWith('-') && !word.startsWith('http://localhost:3000/')),
    )
    const names = ['openapi-typescript', 'standardwebhooks', 'typescript']
    expect(installed.toSorted()).toEqual(names.map(name => `${name}@${versions[name]}`))
  },
)

/** What the build of the pages and of the database client needs, though no file imports it. */
const BUILD_TOOLS = [
  '@prisma/client',
  '@tailwindcss/postcss',
  'prisma',
  // Next builds only where it finds these three, and else tries to install them.
  '@types/node',
  '@types/react',
  'typescript',
]
const STARTED = '{app,bin,cli,components,lib,prisma}/**/*.{ts,tsx,mjs,css}'
const NOT_STARTED = /\.test\.ts$|^lib\/(testing|base\/db\/generated)\//
/** In an import, or in the path of a font. */
const PACKAGE_NAME =
  /(?:\bfrom '|\bimport '|\bimport\('|@import "|"\.\.\/node_modules\/)((?:@[\w-]+\/)?[a-z][\w.-]*)(?=['"/])/g

test('a server and its build need all dependencies, and no other package', () => {
  const imported = globSync(STARTED)
    .filter(path => !NOT_STARTED.test(path))
    .flatMap(path => [...readFileSync(path, 'utf8').matchAll(PACKAGE_NAME)])
    .map(([, name = '']) => name)
  const needed = new Set([...imported, ...BUILD_TOOLS])
  expect(Object.keys(manifest.dependencies)).toEqual([...needed].sort())
})
