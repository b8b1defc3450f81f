import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { describeVariables, readEnv } from '#lib/core/settings.ts'

const SECRET = 'b3JkaW5hcnkgbm9pc2UgdGhhdCBub2JvZHkga25vd3M'
const PRODUCTION = {
  DATABASE_URL: 'postgresql://db.example/troco',
  TROCO_SECRET: SECRET,
  PUBLIC_URL: 'https://pay.example.com',
}

test('without variables, every setting has its default for a local installation', () => {
  const env = readEnv({})
  expect(env).toMatchObject({
    TROCO_ENV: 'local',
    PORT: 3000,
    HOST: '127.0.0.1',
    PUBLIC_URL: 'http://localhost:3000',
    TRUST_PROXY: 0,
    PG_NAMED_STATEMENTS: true,
  })
})

test('a blank variable counts as unset', () => {
  expect(readEnv({ PORT: '', DATABASE_URL: '  ', TROCO_ENV: ' ' })).toEqual(readEnv({}))
})

test('DATABASE_URL implies production unless TROCO_ENV is set', () => {
  expect(readEnv(PRODUCTION).TROCO_ENV).toBe('production')
  const local = readEnv({ TROCO_ENV: 'local', DATABASE_URL: PRODUCTION.DATABASE_URL })
  expect(local.TROCO_ENV).toBe('local')
})

test('PUBLIC_URL follows the port, and its trailing slash is removed', () => {
  expect(readEnv({ PORT: '8080' }).PUBLIC_URL).toBe('http://localhost:8080')
  expect(readEnv({ PUBLIC_URL: 'https://a.example/' }).PUBLIC_URL).toBe('https://a.example')
})

test.each(['DATABASE_URL', 'DATABASE_OWNER_URL', 'DATABASE_DIRECT_URL'])(
  '%s with several hosts is refused, because only one of them accepts changes',
  name => {
    const several = 'postgresql://u:p,w@a:5432,b:5432/troco?target_session_attrs=read-write'
    expect(() => readEnv({ ...PRODUCTION, [name]: several })).toThrow(
      `${name} names several hosts: name one address that leads to the primary, such as that of HAProxy or PgBouncer`,
    )
    expect(() => readEnv({ ...PRODUCTION, [name]: 'postgresql://u:p,w@a/troco' })).not.toThrow()
  },
)

test.each([
  [{ TROCO_SECRET: '' }, 'TROCO_SECRET is missing'],
  [{ TROCO_SECRET: 'short' }, 'TROCO_SECRET is too short'],
  [{ TROCO_SECRET: 'changeme-changeme-changeme-changeme' }, 'TROCO_SECRET is well known'],
  [{ TROCO_SECRET: 'a'.repeat(40) }, 'TROCO_SECRET is well known'],
  [{ PUBLIC_URL: '' }, 'PUBLIC_URL is missing'],
  [{ PUBLIC_URL: 'http://pay.example.com' }, 'PUBLIC_URL must be https'],
])('production refuses %o', (change, message) => {
  expect(() => readEnv({ ...PRODUCTION, ...change })).toThrow(message)
})

test('production accepts http on the local machine', () => {
  expect(readEnv({ ...PRODUCTION, PUBLIC_URL: 'http://127.0.0.1:3000' }).PUBLIC_URL).toContain(
    '127',
  )
})

test('headers for the collector are a list in percent-encoding', () => {
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://otel.example/base'
  const read = (OTEL_EXPORTER_OTLP_HEADERS: string) =>
    readEnv({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS }).OTEL_EXPORTER_OTLP_HEADERS
  expect(read('Authorization=Basic%20YTpi=, x-tenant = 7')).toEqual({
    authorization: 'Basic YTpi=',
    'x-tenant': '7',
  })
  for (const text of [
    'hush',
    'a=',
    '=hush',
    'a b=hush',
    'a=hush,',
    'a=%zz',
    'a=hush%0a',
    'Host=hush',
  ])
    expect(() => read(text), text).toThrow(
      /^Check the environment: OTEL_EXPORTER_OTLP_HEADERS (?!.*hush)/,
    )
  expect(() => readEnv({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' })).toThrow(
    'OTEL_EXPORTER_OTLP_HEADERS is set without OTEL_EXPORTER_OTLP_ENDPOINT',
  )
})

test.each(['127.0.0.1:4318', 'grpc://127.0.0.1:4317', 'http://', 'http://user:hush@otel.example'])(
  'the collector %s is refused',
  OTEL_EXPORTER_OTLP_ENDPOINT => {
    expect(() => readEnv({ OTEL_EXPORTER_OTLP_ENDPOINT })).toThrow(
      /^Check the environment: OTEL_EXPORTER_OTLP_ENDPOINT must (?!.*hush)/,
    )
  },
)

test('all problems are reported in one line that does not contain the secret', () => {
  const read = () =>
    readEnv({ ...PRODUCTION, TROCO_SECRET: 'my-own', PORT: 'x', TRUST_PROXY: '-1' })
  expect(read).toThrow(/PORT .*TRUST_PROXY .*TROCO_SECRET is too short/)
  expect(read).not.toThrow(/\n|my-own/)
})

test('.env.example lists every variable with meaning and default, in the order of the schema', () => {
  const expectedEntries = describeVariables().map(
    ({ name, meaning, fallback }) => `# ${meaning}\n# ${name}=${fallback}\n`,
  )
  const example = readFileSync('.env.example', 'utf8')
  expect(example.slice(example.indexOf(`# ${describeVariables()[0]?.meaning}`))).toBe(
    expectedEntries.join('\n'),
  )
})
