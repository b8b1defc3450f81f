import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, posix, resolve } from 'node:path'
import { expect, test } from 'vitest'

const BASEMENT =
  'csv db pix money errors env settings log ids keys mode fields headers network locale'.split(' ')
const ROOMS = 'accounts tokens charges withdrawals refunds'.split(' ')
const SERVICES = 'ledger gateway webhooks audit mail people'.split(' ')

/** What each place may import, by place; its own is always allowed. */
const MAY: Record<string, string[]> = {
  ...Object.fromEntries(BASEMENT.map(place => [place, BASEMENT])),
  ...Object.fromEntries(SERVICES.map(place => [place, BASEMENT])),
  ...Object.fromEntries(ROOMS.map(place => [place, [...SERVICES, ...BASEMENT]])),
  people: ['audit', 'mail', ...BASEMENT],
  admin: [...ROOMS, ...SERVICES, ...BASEMENT],
  dashboard: [...ROOMS, ...SERVICES, ...BASEMENT],
  payer: ['http', 'session', 'charges', ...BASEMENT],
  http: ['tokens', 'session', ...BASEMENT],
  session: ['accounts', 'people', 'tokens', ...BASEMENT],
  server: ['http', ...BASEMENT],
  jobs: [...ROOMS, ...SERVICES, ...BASEMENT],
  client: [...ROOMS, ...SERVICES, 'dashboard', 'admin', 'money', 'mode', 'pix'],
  route: ['http', 'session', 'dashboard', 'admin', 'payer', ...ROOMS, ...SERVICES, ...BASEMENT],
  page: ['page', 'session', 'dashboard', 'admin', 'components', ...ROOMS, ...SERVICES, ...BASEMENT],
  components: [
    'client',
    'session',
    'dashboard',
    'admin',
    'locale',
    'money',
    'mode',
    'pix',
    ...ROOMS,
    ...SERVICES,
  ],
  prisma: [...ROOMS, ...SERVICES, ...BASEMENT],
  bin: ['server', 'jobs', 'prisma', ...ROOMS, ...SERVICES, ...BASEMENT],
}

/** From these only the named files may be taken, whoever else is allowed more. */
const ONLY: Record<string, RegExp> = {
  'http tokens': /^lib\/tokens\/(verify|recall|schema)\.ts$/,
  'http session': /^lib\/session\/(read|cookie|roles|proof|schema)\.ts$/,
  'session tokens': /^lib\/tokens\/schema\.ts$/,
  'payer session': /^lib\/session\/(cookie|schema)\.ts$/,
  'components session': /^lib\/session\/(schema|preferences|words|roles)\.ts$/,
}

const VERBS =
  /^(activate|approve|assign|cancel|close|create|expire|export|fail|insert|invite|issue|join|limit|open|postpone|recall|refund|register|reject|remove|reveal|revoke|rotate|search|send|settle|simulate|summarize|suspend|total|update|verify|view|welcome)\.ts$/
const RULES = [
  'invitations.ts',
  'owners.ts',
  'people-queries.ts',
  'states.ts',
  'password.ts',
  'throttle.ts',
  'token-text.ts',
  'payment-url.ts',
  'wire.ts',
]
const VAGUE = /^(index|utils?|helpers?|types|service|manager|constants|misc|common)\.(ts|tsx)$/
/** A route's is for each of its methods. */
const LINES_MAX = { file: 200, route: 30, verb: 80, component: 150 }
/** A file over its budget says so, with the reason, in a comment that begins like this. */
const DEFENCE = 'Over the house budget:'

interface Source {
  path: string
  text: string
}

function placeOf(path: string): string {
  const [top = '', second = ''] = path.split('/')
  if (top === 'lib') return second.replace(/\.ts$/, '')
  if (top === 'app') return basename(path) === 'route.ts' ? 'route' : 'page'
  return top
}

function importsOf({ path, text }: Source): string[] {
  const found = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)
  return [...found]
    .map(([, target = '']) =>
      target.startsWith('#')
        ? target.slice(1)
        : target.startsWith('.')
          ? posix.join(dirname(path), target)
          : '',
    )
    .filter(target => /\.tsx?$/.test(target) && !target.startsWith('lib/db/generated/'))
}

/** What in these files is not as the house is planned; nothing when all is. */
function inspect(sources: Source[]): string[] {
  return sources.flatMap(source => [
    ...arrows(source),
    ...names(source),
    ...budgets(source),
    ...habits(source),
  ])
}

function arrows(source: Source): string[] {
  const from = placeOf(source.path)
  return importsOf(source).flatMap(target => {
    const to = placeOf(target)
    const allowed = from === to || (MAY[from] ?? []).includes(to)
    const schemaOnly = from === 'components' || from === 'client'
    const room = [...ROOMS, ...SERVICES, 'dashboard', 'admin'].includes(to)
    const only = schemaOnly && room ? /\/(schema|states)\.ts$/ : ONLY[`${from} ${to}`]
    if (allowed && (from === to || !only || only.test(target))) return []
    return [`${source.path} may not import ${target}`]
  })
}

function names({ path }: Source): string[] {
  const name = basename(path)
  const vague = VAGUE.test(name) ? [`${path} has a name that says nothing`] : []
  const inRoom = ROOMS.includes(path.split('/')[1] ?? '') && path.startsWith('lib/')
  const known = ['schema.ts', 'queries.ts', ...RULES].includes(name) || VERBS.test(name)
  return inRoom && !known
    ? [...vague, `${path} is neither schema, queries, a verb nor a rule`]
    : vague
}

function budgets({ path, text }: Source): string[] {
  const place = placeOf(path)
  const verb = path.startsWith('lib/') && ROOMS.includes(place) && VERBS.test(basename(path))
  const kind =
    place === 'route' ? 'route' : verb ? 'verb' : place === 'components' ? 'component' : 'file'
  const lines = text.trimEnd().split('\n').length
  const methods = text.match(/^export const [A-Z]+ = /gm)?.length ?? 1
  const most = LINES_MAX[kind] * (kind === 'route' ? methods : 1)
  if (lines <= most || text.includes(DEFENCE)) return []
  return [`${path} has ${lines} lines, a ${kind} has at most ${most}`]
}

function habits({ path, text }: Source): string[] {
  return [
    ...(/\$(query|execute)RawUnsafe/.test(text) ? [`${path} builds SQL from text`] : []),
    ...(/\bprocess\.env\b/.test(text) && path !== 'lib/env.ts'
      ? [`${path} reads process.env`]
      : []),
    ...(/\binstanceof TrocoError\b/.test(text) ? [`${path} tells an error by its class`] : []),
  ]
}

function sourcesOfTheHouse(): Source[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { encoding: 'utf8' })
  return files
    .split('\n')
    .filter(path => /^(app|bin|components|lib|prisma)\/.*\.tsx?$/.test(path))
    .filter(path => !/\.test\.tsx?$/.test(path))
    .map(path => ({ path, text: readFileSync(path, 'utf8') }))
}

test('the house stands as planned: arrows, names, budgets and habits', () => {
  const sources = sourcesOfTheHouse()
  expect(sources.length).toBeGreaterThan(50)
  expect(inspect(sources)).toEqual([])
})

test.each([
  ['lib/charges/x.ts', '#lib/withdrawals/create.ts'],
  ['lib/charges/create.ts', '../withdrawals/create.ts'],
  ['lib/ledger/transfer.ts', '#lib/charges/create.ts'],
  ['lib/ledger/transfer.ts', '#lib/webhooks/events.ts'],
  ['lib/db/client.ts', '#lib/ledger/transfer.ts'],
  ['lib/money.ts', '#lib/http/answer.ts'],
  ['lib/http/endpoint.ts', '#lib/tokens/issue.ts'],
  ['lib/http/endpoint.ts', '#lib/charges/create.ts'],
  ['components/charge-list.tsx', '#lib/charges/queries.ts'],
  ['components/charge-list.tsx', '#lib/db/client.ts'],
  ['app/api/account/route.ts', '#lib/server/front.ts'],
  ['lib/jobs/worker.ts', '#bin/runtime.ts'],
])('a forbidden arrow is seen: %s to %s', (path, target) => {
  expect(inspect([{ path, text: `import { x } from '${target}'\n` }]).join()).toContain(
    'may not import',
  )
  expect(inspect([{ path, text: `const x = await import('${target}')\n` }]).join()).toContain(
    'may not',
  )
})

test('a vague name, an unknown kind of file, a long file and a bad habit are seen', () => {
  const long = 'const line = 1\n'.repeat(201)
  expect(inspect([{ path: 'lib/charges/utils.ts', text: '' }])).toHaveLength(2)
  expect(inspect([{ path: 'lib/charges/charge.ts', text: '' }])).toHaveLength(1)
  expect(inspect([{ path: 'lib/charges/create.ts', text: long }])[0]).toContain('at most 80')
  expect(inspect([{ path: 'app/api/account/route.ts', text: long }])[0]).toContain('at most 30')
  expect(inspect([{ path: 'lib/db/x.ts', text: `// ${DEFENCE} one list\n${long}` }])).toEqual([])
  expect(inspect([{ path: 'lib/db/x.ts', text: 'db.$queryRawUnsafe(text)' }])).toHaveLength(1)
  expect(inspect([{ path: 'lib/db/x.ts', text: 'process.env.HOME' }])).toHaveLength(1)
})

test.each([
  ['lib/charges/x.ts', '#lib/withdrawals/create.ts', 'Rooms never import each other'],
  ['lib/ledger/x.ts', '#lib/charges/create.ts', 'A service knows no room'],
  ['lib/db/x.ts', '#lib/ledger/transfer.ts', 'The basement carries the house'],
  ['lib/jobs/x.ts', 'next/headers', 'know React'],
  ['components/x.tsx', '#lib/db/client.ts', 'Components never touch the server'],
  ['components/x.tsx', '#lib/charges/queries.ts', "room's schema.ts only"],
])('the linter says where it belongs: %s importing %s', (path, target, sign) => {
  const scratch = mkdtempSync(join(tmpdir(), 'troco-walls-'))
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
  expect(stderr.replace(/\s+/g, ' ')).toContain(sign)
  expect(status).toBe(1)
})

test('the front works the same on what git holds: no generated file is kept', () => {
  const kept = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).split('\n')
  const generated =
    /^(node_modules|\.next|\.troco|\.cache|lib\/db\/generated)\/|next-env\.d\.ts$|\.tsbuildinfo$/
  expect(kept.filter(path => generated.test(path))).toEqual([])
})
