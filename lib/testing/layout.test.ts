import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix, resolve } from 'node:path'
import { expect, test } from 'vitest'
import {
  ALLOWED_IMPORTS,
  BROWSER_MODULES,
  FOLDERS,
  FOREIGN_WRITES,
  INDEPENDENT_FOLDERS,
  LAST_FOLDERS,
  PAGE_PARTS,
  REACT_FOLDERS,
  ROUTABLE_ID_PLACES,
  ROUTE_TYPES,
  TABLE_OWNERS,
} from '#lib/testing/layout-rules.ts'

const VAGUE_NAME = /^(index|utils?|helpers?|types|service|manager|constants|misc|common)\.(ts|tsx)$/
const PAGE_FILE = /^(page|layout|loading|error|global-error|not-found|forbidden)\.tsx$/
/** Beginning of the linter's message about an import of Next, React or the database. */
const REACT_RULE = 'only app, components and lib/session know React'

const ALL_SOURCES = /^(app|bench|bin|components|e2e|lib|prisma)\//

/** Tables by the name of their model in code, such as `ledgerAccount`. */
const TABLE_OF_MODEL = new Map(
  [
    ...readFileSync('prisma/schema.prisma', 'utf8').matchAll(
      /^model (\w+) \{[^}]*@@map\("(\w+)"\)/gm,
    ),
  ].map(([, model = '', table = '']) => [model.charAt(0).toLowerCase() + model.slice(1), table]),
)

interface Source {
  path: string
  text: string
}

/** Returns a folder of lib, such as `charges`, or a kind of code, such as `route`. */
function placeOf(path: string): string {
  const [top = '', folder = ''] = path.split('/')
  if (top === 'lib') return folder
  if (top !== 'app') return top
  if (/^route(\.next)?\.ts$/.test(basename(path))) return 'route'
  return PAGE_FILE.test(basename(path)) || PAGE_PARTS.includes(path) ? 'page' : 'components'
}

function importsOf({ path, text }: Source): string[] {
  const matches = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)
  return [...matches].map(([, target = '']) => {
    if (target.startsWith('#')) return target.slice(1)
    return target.startsWith('.') ? posix.join(dirname(path), target) : target
  })
}

/** Returns all violations of the rules; for lib/testing, only forbidden imports. */
function findViolations(sources: Source[]): string[] {
  return sources.flatMap(source => [
    ...checkImports(source),
    ...(source.path.startsWith('lib/testing/') ? [] : checkContent(source)),
  ])
}

function checkContent(source: Source): string[] {
  return [...checkTables(source), ...checkName(source), ...checkPatterns(source)]
}

function checkImports(source: Source): string[] {
  return importsOf(source)
    .filter(target => !mayImport(source.path, target))
    .map(target => `${source.path} may not import ${target}`)
}

function mayImport(path: string, target: string): boolean {
  if (/^(next|next-auth|react|react-dom)(\/|$)/.test(target))
    return REACT_FOLDERS.some(folder => folder.test(path))
  if (!/^(app|bin|components|e2e|lib|prisma)\/.*\.tsx?$/.test(target)) return true
  const [from, to] = [placeOf(path), placeOf(target)]
  if (from === 'testing') return true
  if (path === ROUTE_TYPES && /^app\/api\/.*route\.ts$|^lib\/http\//.test(target)) return true
  if (target.startsWith('app/')) return isBeside(dirname(path), dirname(target))
  if (from === to) return true
  if (from === 'components') return BROWSER_MODULES.some(shape => shape.test(target))
  if (!target.startsWith('lib/')) return ALLOWED_IMPORTS[from]?.includes(to) ?? false
  return rankOf(to) <= rankOf(path.startsWith('lib/') ? from : (LAST_FOLDERS[from] ?? ''))
}

/** Returns the place of a folder of lib in the order of imports, -1 if it has none. */
function rankOf(folder: string): number {
  return FOLDERS.indexOf(folder)
}

/** Returns whether a page's private part lies in the same folder, above or below. */
function isBeside(from: string, to: string): boolean {
  return `${from}/`.startsWith(`${to}/`) || (from !== 'app' && `${to}/`.startsWith(`${from}/`))
}

/** Returns imports of e2e or bench by files below them, tests and their support included. */
function findUpwardImports(sources: Source[]): string[] {
  return sources.flatMap(source =>
    importsOf(source)
      .filter(target => /^(e2e|bench)\//.test(target))
      .map(target => `${source.path} may not import ${target}`),
  )
}

/** Returns imports of the repository's own code by folders that are independent of it. */
function findDependentImports(sources: Source[]): string[] {
  const isOwnCode = /^(\.\.|app|bench|bin|components|e2e|examples|lib|messages|prisma)\//
  return sources.flatMap(source => {
    const folder = INDEPENDENT_FOLDERS.find(name => source.path.startsWith(name))
    if (!folder) return []
    return importsOf(source)
      .filter(target => isOwnCode.test(target) && !target.startsWith(folder))
      .map(target => `${source.path} may not import ${target}`)
  })
}

function checkTables({ path, text }: Source): string[] {
  if (!/^(lib|bin|app)\//.test(path)) return []
  const inSql = text.matchAll(/\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+([a-z_]+)\b/g)
  const byModel = text.matchAll(
    /\.(\w+)\.(?:create|update|upsert|delete)(?:Many)?(?:AndReturn)?\(/g,
  )
  const written = [
    ...[...inSql].map(([, table = '']) => table),
    ...[...byModel].map(([, model = '']) => TABLE_OF_MODEL.get(model) ?? ''),
  ]
  return [...new Set(written)]
    .filter(table => table in TABLE_OWNERS)
    .filter(table => !path.startsWith(`lib/${TABLE_OWNERS[table]}/`))
    .filter(table => !(`${path} ${table}` in FOREIGN_WRITES))
    .map(table => `${path} writes ${table}, which belongs to lib/${TABLE_OWNERS[table]}`)
}

function checkName({ path }: Source): string[] {
  return VAGUE_NAME.test(basename(path)) ? [`${path} has a name that says nothing`] : []
}

function findImportCycles(sources: Source[]): string[] {
  const targets = new Map(sources.map(source => [source.path, importsOf(source)]))
  const visited = new Set<string>()
  const visit = (path: string, chain: string[]): string[] => {
    const start = chain.indexOf(path)
    if (start !== -1) return [[...chain.slice(start), path].join(' imports ')]
    if (visited.has(path)) return []
    const cycles = (targets.get(path) ?? []).flatMap(target => visit(target, [...chain, path]))
    visited.add(path)
    return cycles
  }
  return [...targets.keys()].flatMap(path => visit(path, []))
}

/** Returns chains of imports by which browsers would load the database. Imports of types vanish before. */
function findServerCode(sources: Source[]): string[] {
  const loaded = sources.map(({ path, text }) => ({
    path,
    text: text.replace(
      /^(import|export) type [^']*'[^']+'|^import \{(\s*type [^,}]+,?)+\s*\} from '[^']+'/gm,
      '',
    ),
  }))
  const targets = new Map(loaded.map(source => [source.path, importsOf(source)]))
  const visited = new Set<string>()
  const visit = (path: string, chain: string[]): string[] => {
    if (/^(lib\/db\/.*|pg|next\/headers)$/.test(path)) return [[...chain, path].join(' imports ')]
    if (visited.has(path)) return []
    visited.add(path)
    return (targets.get(path) ?? []).flatMap(target => visit(target, [...chain, path]))
  }
  return sources
    .filter(({ text }) => text.startsWith("'use client'"))
    .flatMap(({ path }) => visit(path, []))
}

function checkPatterns({ path, text }: Source): string[] {
  return [
    ...(/\$(query|execute)RawUnsafe/.test(text) ? [`${path} builds SQL from text`] : []),
    ...(/\bprocess\.env\b/.test(text) && path !== 'lib/core/settings.ts'
      ? [`${path} reads process.env: read a setting of lib/core/settings.ts`]
      : []),
    ...(/\bnewId\b/.test(text) && ROUTABLE_ID_PLACES.test(path)
      ? [`${path} makes an id without a bucket: use newRoutableId (docs/decisions/029)`]
      : []),
    ...(/\binstanceof (TrocoError|Invariant)\b/.test(text)
      ? [
          `${path} compares an error's class: one process loads it twice, so compare its code or name`,
        ]
      : []),
    ...(/\bnew TrocoError\(/.test(text) && path !== 'lib/core/errors.ts'
      ? [`${path} words a refusal: use refuse() and the table in lib/core/refusals.ts`]
      : []),
    ...(/\bqueryKey: \[/.test(text) && /^(app|components)\/(?!queries\/)/.test(path)
      ? [`${path} names a query by a key: use the options of components/queries`]
      : []),
    ...(/<form\b((?!method=|\{\.\.\.)[\s\S])*?onSubmit=/.test(text)
      ? [
          `${path} has a form without a method before onSubmit: sent early, it shows its data in the URL`,
        ]
      : []),
  ]
}

function readProductSources(): Source[] {
  return readSources(/^(app|bin|components|lib|prisma)\//).filter(({ path }) => !isTest(path))
}

function readSources(folders: RegExp): Source[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  return files
    .split('\n')
    .filter(path => folders.test(path) && /\.tsx?$/.test(path) && existsSync(path))
    .map(path => ({ path, text: readFileSync(path, 'utf8') }))
}

function isTest(path: string): boolean {
  return /\.(test|spec)\.tsx?$/.test(path)
}

test('every folder of lib stands in the order of imports', () => {
  const folders = readProductSources().flatMap(
    ({ path }) => /^lib\/([^/]+)\//.exec(path)?.[1] ?? [],
  )
  expect([...new Set(folders)].sort()).toEqual([...FOLDERS].sort())
})

test('every file follows the rules for imports, tables, names and patterns', () => {
  const sources = readProductSources()
  expect(sources.length).toBeGreaterThan(50)
  expect(findViolations(sources)).toEqual([])
})

test('nothing under lib imports e2e or bench, tests included', () => {
  expect(findUpwardImports(readSources(/^lib\//))).toEqual([])
  const find = (target: string) =>
    findUpwardImports([{ path: 'lib/testing/x.ts', text: `import { x } from '${target}'` }])
  const targets = ['#e2e/api/x.ts', '../../bench/x.ts', './x.ts']
  expect(targets.map(target => find(target).length)).toEqual([1, 1, 0])
})

test('the test bank imports nothing that it judges, tests included', () => {
  expect(findDependentImports(readSources(ALL_SOURCES))).toEqual([])
  const find = (target: string) =>
    findDependentImports([{ path: 'e2e/psp/x.ts', text: `import type { X } from '${target}'` }])
  for (const target of ['#lib/core/money.ts', '../../lib/core/money.ts', '#e2e/api/x.ts'])
    expect(find(target), target).toHaveLength(1)
  for (const target of ['node:tls', 'zod', './x.ts', '#e2e/psp/x.ts'])
    expect(find(target), target).toEqual([])
})

test('no imports form a cycle, type imports included', () => {
  expect(findImportCycles(readSources(ALL_SOURCES))).toEqual([])
})

test('nothing that browsers load reaches the database', () => {
  expect(findServerCode(readProductSources())).toEqual([])
  const list = { path: 'app/x.tsx', text: "'use client'\n\nimport { x } from '#lib/x/schema.ts'\n" }
  const find = (text: string) => findServerCode([list, { path: 'lib/x/schema.ts', text }])
  expect(find("import { db } from '#lib/db/client.ts'\n")).toHaveLength(1)
  expect(find("import { type Tx, db } from '#lib/db/client.ts'\n")).toHaveLength(1)
  expect(find("import { type Tx } from '#lib/db/client.ts'\n")).toEqual([])
  expect(find("export type { Tx } from '#lib/db/client.ts'\n")).toEqual([])
})

test('the list of route files is whole, and each endpoint lies below the folder of its file', () => {
  const files = readProductSources().filter(({ path }) => /^app\/api\/.*\/route\.ts$/.test(path))
  const list = readFileSync(ROUTE_TYPES, 'utf8')
  const listed = [...list.matchAll(/^ {2}\| typeof import\('#(.+)'\)$/gm)].map(([, path]) => path)
  expect(listed.sort()).toEqual(files.map(({ path }) => path).sort())
  // Next would not find any other.
  for (const { path, text } of files) {
    const keys = [...text.matchAll(/'(?:GET|POST|PUT|PATCH|DELETE) (\/.*?)'/g)].map(
      ([, key]) => key,
    )
    expect(keys.length, path).toBeGreaterThan(0)
    const folder = path.slice('app/api'.length, -'/route.ts'.length)
    const base = folder.replace('/[[...path]]', '')
    const isReached = (key = '') =>
      folder === base ? key === base : `${key}/`.startsWith(`${base}/`)
    expect(
      keys.filter(key => !isReached(key)),
      path,
    ).toEqual([])
  }
})

test('every table of the schema has an owner, and no exception is unused', () => {
  const schema = readFileSync('prisma/schema.prisma', 'utf8')
  const tables = [...schema.matchAll(/@@map\("(\w+)"\)/g)].map(([, table = '']) => table)
  expect(Object.keys(TABLE_OWNERS).sort()).toEqual(tables.sort())
  for (const exception of Object.keys(FOREIGN_WRITES)) {
    const [path = '', table = ''] = exception.split(' ')
    expect(readFileSync(path, 'utf8'), exception).toContain(table)
  }
})

test('only one file calls the function that books money', () => {
  const callers = readProductSources().filter(({ text }) => text.includes('troco_book('))
  expect(callers.map(({ path }) => path)).toEqual(['lib/ledger/book.ts'])
})

test.each([
  ['lib/charges/create.ts', '#lib/withdrawals/create.ts'],
  ['lib/charges/create.ts', '../withdrawals/create.ts'],
  ['lib/ledger/transfer.ts', '#lib/charges/create.ts'],
  ['lib/people/roles.ts', '#lib/ledger/transfer.ts'],
  ['lib/db/client.ts', '#lib/ledger/transfer.ts'],
  ['lib/core/money.ts', '#lib/http/response.ts'],
  ['lib/operator/health.ts', '#lib/http/response.ts'],
  ['lib/http/endpoint.ts', '#lib/worker/worker.ts'],
  ['lib/http/endpoint.ts', '#lib/testing/fixtures.ts'],
  ['lib/worker/worker.ts', 'next/headers'],
  ['lib/worker/worker.ts', '#bin/runtime.ts'],
  ['components/charge-list.tsx', '#lib/charges/list.ts'],
  ['components/charge-list.tsx', '#lib/db/client.ts'],
  ['components/charge-list.tsx', '#app/[mode]/charges/list.tsx'],
  ['app/[mode]/home/page.tsx', '#app/[mode]/charges/list.tsx'],
  ['app/[mode]/charges/list.tsx', '#lib/charges/list.ts'],
  ['app/api/account/route.ts', '#lib/worker/worker.ts'],
  ['app/api/account/route.ts', '#components/ui/button.tsx'],
])('a forbidden import is found: %s importing %s', (path, target) => {
  for (const text of [`import { x } from '${target}'\n`, `const x = await import('${target}')\n`])
    expect(findViolations([{ path, text }]).join()).toContain('may not import')
})

test('a foreign write, a vague name and a forbidden pattern are found', () => {
  const writing = (path: string) => findViolations([{ path, text: 'INSERT INTO charges (id)' }])
  expect(writing('lib/charges/create.ts')).toEqual([])
  expect(writing('lib/withdrawals/create.ts')).toHaveLength(1)
  expect(writing('bin/commands/account.ts')).toHaveLength(1)
  const byModel = { path: 'lib/withdrawals/x.ts', text: 'await tx.token.updateMany({})' }
  expect(findViolations([byModel])).toHaveLength(1)
  expect(findViolations([{ path: 'lib/charges/utils.ts', text: '' }])).toHaveLength(1)
  expect(findViolations([{ path: 'lib/db/x.ts', text: 'db.$queryRawUnsafe(text)' }])).toHaveLength(
    1,
  )
  expect(findViolations([{ path: 'lib/db/x.ts', text: 'process.env.HOME' }])).toHaveLength(1)
  expect(findViolations([{ path: 'lib/db/x.ts', text: "new TrocoError('x', 'y')" }])).toHaveLength(
    1,
  )
  const query = (path: string) => findViolations([{ path, text: "queryKey: ['charges']" }])
  expect(query('app/x.tsx')).toHaveLength(1)
  expect(query('components/x.tsx')).toHaveLength(1)
  expect(query('components/queries/charges.ts')).toEqual([])
  const form = (attributes: string) => ({ path: 'app/x.tsx', text: `<form ${attributes}>` })
  expect(findViolations([form('onSubmit={submit}')])).toHaveLength(1)
  expect(findViolations([form('method="post" onSubmit={submit}')])).toEqual([])
  const makingId = (path: string, text: string) => findViolations([{ path, text }])
  expect(makingId('lib/charges/x.ts', 'newId()')).toHaveLength(1)
  expect(makingId('lib/charges/x.ts', 'newRoutableId(id)')).toEqual([])
  expect(makingId('lib/accounts/x.ts', 'newId()')).toEqual([])
})

test('an import cycle is found; importing a file twice is not a cycle', () => {
  const importing = (path: string, ...targets: string[]) => ({
    path,
    text: targets.map(target => `import type { X } from '${target}'\n`).join(''),
  })
  const line = [importing('bench/a.ts', './b.ts', './c.ts'), importing('bench/b.ts', './c.ts')]
  expect(findImportCycles([...line, importing('bench/c.ts')])).toEqual([])
  expect(findImportCycles([...line, importing('bench/c.ts', '#bench/a.ts')])).toEqual([
    'bench/a.ts imports bench/b.ts imports bench/c.ts imports bench/a.ts',
  ])
})

test.each([
  ['lib/worker/x.ts', 'next/headers', REACT_RULE],
  ['components/x.tsx', '#lib/db/client.ts', REACT_RULE],
  ['e2e/psp/x.ts', '#lib/core/money.ts', 'the test bank is independent'],
])('the linter refuses %s importing %s', (path, target, message) => {
  const scratch = mkdtempSync(join(tmpdir(), 'troco-lint-'))
  const settings = JSON.parse(readFileSync('biome.json', 'utf8'))
  writeFileSync(
    join(scratch, 'biome.json'),
    JSON.stringify({ ...settings, $schema: undefined, vcs: undefined }),
  )
  mkdirSync(join(scratch, dirname(path)), { recursive: true })
  writeFileSync(join(scratch, path), `import { x } from '${target}'\n\nexport const y = x\n`)
  const biome = resolve('node_modules/.bin/biome')
  const { status, stderr } = spawnSync(biome, ['lint', path], { cwd: scratch, encoding: 'utf8' })
  rmSync(scratch, { recursive: true, force: true })
  expect(stderr.replace(/\s+/g, ' ')).toContain(message)
  expect(status).toBe(1)
})

test('git contains no generated file', () => {
  const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n')
  const generated =
    /^(node_modules|\.next|\.troco|\.cache|lib\/db\/generated)\/|next-env\.d\.ts$|\.tsbuildinfo$/
  expect(tracked.filter(path => generated.test(path))).toEqual([])
})

test('each file that a document or a comment names exists', () => {
  const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n')
  const isThere = (name: string) => files.some(file => file === name || file.endsWith(`/${name}`))
  const isDocument = (file: string) => /^(docs\/(?!guides\/).*|[A-Z]+)\.md$/.test(file)
  const isCode = (file: string) =>
    /^(app|bin|components|lib|prisma)\/.*\.(tsx?|mjs|sql)$/.test(file)
  const absent = files
    .filter(file => existsSync(file) && (isDocument(file) || isCode(file)))
    .flatMap(file => {
      const text = readFileSync(file, 'utf8')
      const places = isDocument(file)
        ? text.matchAll(/`([\w[\]/.-]+\.(?:tsx?|sql|mjs))`/g)
        : text.matchAll(/^\s*(?:\/\/|\/?\*|--).*?\b([\w[\]/.-]+\.(?:tsx?|sql|mjs))\b/gm)
      return [...places].flatMap(([, name = '']) => (isThere(name) ? [] : [`${file}: ${name}`]))
    })
  // A file of Next that the project does without, and a name in an example.
  const known = ['proxy.ts', 'Prisma.sql']
  expect(absent.filter(found => !known.some(name => found.endsWith(` ${name}`)))).toEqual([])
})
