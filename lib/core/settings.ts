import { lstatSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import * as z from 'zod'
import { hasUserInfo } from '#lib/core/fields.ts'

const port = wholeNumber(1, 65_535)
const count = wholeNumber(0, 1_000)
const limit = wholeNumber(0, 1_000_000)
const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//, 'must begin with postgresql://')
  .refine(
    url => !url.split('/')[2]?.split('@').at(-1)?.includes(','),
    'names several hosts: name one address that leads to the primary, such as that of HAProxy or PgBouncer',
  )
const flag = z.enum(['true', 'false']).transform(value => value === 'true')

/** Matches secrets of documentation and examples; production refuses them. */
const WELL_KNOWN_SECRET =
  /^(secret|changeme|change-me|password|troco|test|example|default)|^(.)\2+$/i
const SECRET_LENGTH_MIN = 32

const schema = z.object({
  TROCO_ENV: z
    .enum(['local', 'production'])
    .optional()
    .describe('local or production; production if DATABASE_URL is set, otherwise local'),
  PORT: port.default(3000).describe('TCP port of the web server'),
  HOST: z.string().default('127.0.0.1').describe('address that the web server listens on'),
  PUBLIC_URL: z
    .url({
      protocol: /^https?$/,
      error: 'must be an http(s) address such as https://pay.example.com',
    })
    .optional()
    .describe(
      'URL at which users and programs reach this server, https in production; default http://localhost:PORT',
    ),
  TROCO_DATA: z
    .string()
    .default('.troco')
    .describe('folder of the embedded PostgreSQL, the generated secrets and demo.json'),
  TROCO_SECRET: z
    .string()
    .optional()
    .describe(
      `server key, at least ${SECRET_LENGTH_MIN} characters; required in production, otherwise generated in the data folder`,
    ),
  TROCO_SECRET_BEFORE: z
    .string()
    .min(SECRET_LENGTH_MIN, `must have at least ${SECRET_LENGTH_MIN} characters`)
    .optional()
    .describe('previous TROCO_SECRET, still accepted during a change'),
  SIGNUPS: z
    .enum(['open', 'invite', 'closed'])
    .optional()
    .describe(
      'who may open an account: open (anyone), invite (with an invitation from an admin) or closed; default open locally, invite in production',
    ),
  NEW_ACCOUNTS: z
    .enum(['active', 'pending'])
    .optional()
    .describe(
      'state of an account opened without an invitation: active, or pending until an admin activates it; default active locally, pending in production',
    ),
  SMTP_URL: z
    .url({
      protocol: /^smtps?$/,
      hostname: /./,
      error: 'must be a URL that begins with smtp:// or smtps://',
    })
    .optional()
    .describe(
      'mail server, such as smtps://user:password@mail.example.com; an smtp:// server on another machine must offer STARTTLS; if unset, mails go to the log locally and are not sent in production',
    ),
  MAIL_FROM: z
    .string()
    .regex(/^[^<>@\r\n]*<[^\s<>@]+@[^\s<>@]+>$|^[^\s<>@]+@[^\s<>@]+$/, {
      error: 'must be an address such as Troco <troco@example.com>',
    })
    .optional()
    .describe('sender of mails; default no-reply at the host of PUBLIC_URL'),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .optional()
    .describe('issuer URL of an OpenID Connect provider for signing in'),
  OIDC_CLIENT_ID: z.string().optional().describe('client id of this installation at the provider'),
  OIDC_CLIENT_SECRET: z
    .string()
    .optional()
    .describe('client secret of this installation at the provider'),
  OIDC_NAME: z
    .string()
    .max(40)
    .default('OpenID')
    .describe('name of the provider on the sign-in page'),
  DEMO_PASSWORD: z
    .string()
    .min(12, 'must have at least 12 characters')
    .optional()
    .describe('password of both demo users; generated in the data folder if unset'),
  DATABASE_URL: databaseUrl
    .optional()
    .describe(
      'PostgreSQL 15 or newer, such as postgresql://user:password@db.example.com/troco; without it, Troco runs an embedded PostgreSQL',
    ),
  DATABASE_OWNER_URL: databaseUrl
    .optional()
    .describe(
      'the same database, with the role that owns its tables, for migrations and backups; then the role of DATABASE_URL needs to own nothing',
    ),
  DATABASE_DIRECT_URL: databaseUrl
    .optional()
    .describe(
      'behind a pooler: the same database and role as in DATABASE_URL, without the pooler, for notifications between processes; without it they notice each other’s work only when they poll',
    ),
  MIGRATE: flag
    .default(true)
    .describe(
      'true or false: whether a start applies pending migrations; with false it refuses to start until the command migrate has applied them',
    ),
  WAIT_FOR_DATABASE: wholeNumber(0, 3_600)
    .default(60)
    .describe(
      'seconds for which a starting server or worker waits for a database that is unreachable or a standby; 0: it stops at once',
    ),
  BACKUP_FOLDER: z
    .string()
    .optional()
    .describe(
      'folder of the manifests of backups, in which the newest backup is tried; it needs as much room as the database',
    ),
  PGBACKREST_STANZA: z
    .string()
    .optional()
    .describe(
      'stanza of pgBackRest, which makes the backups; for those who run the commands backup, drill and restore',
    ),
  DATABASE_POOL_MAX: wholeNumber(2, 200)
    .default(10)
    .describe('maximum size of the connection pool of each process'),
  DATABASE_TIMEOUT_MS: wholeNumber(1_000, 120_000)
    .default(5_000)
    .describe(
      'after how long without an answer of the database a request gets 503; the same for all processes, and run migrate after a change, because the role of DATABASE_URL stores a part of it',
    ),
  PG_NAMED_STATEMENTS: flag
    .default(true)
    .describe(
      'true or false: whether to use named prepared statements; false behind a PgBouncer older than 1.21',
    ),
  TRUST_PROXY: count
    .default(0)
    .describe('number of reverse proxies in front of the server whose X-Forwarded-For is trusted'),
  REDIS_URL: z
    .url({
      protocol: /^rediss?$/,
      hostname: /./,
      error: 'must be a URL that begins with redis:// or rediss://',
    })
    .optional()
    .describe('Redis or Valkey in which several web processes share their rate limits'),
  RATE_TOKEN_PER_SECOND: limit
    .default(100)
    .describe('requests per second of one token; 0 disables the limit'),
  RATE_TOKEN_BURST: limit
    .default(200)
    .describe('requests at once of a token that was idle; 0 means RATE_TOKEN_PER_SECOND'),
  RATE_IP_PER_SECOND: limit
    .default(200)
    .describe('requests per second of one client address, pages included; 0 disables the limit'),
  RATE_IP_BURST: limit
    .default(400)
    .describe('requests at once of a client address that was idle; 0 means RATE_IP_PER_SECOND'),
  RATE_TOKEN_IN_FLIGHT: limit
    .default(300)
    .describe(
      'requests of one token in progress at the same time in each process; further ones wait up to 2 s; 0 disables the limit',
    ),
  TEST_BYTES_PER_DAY: wholeNumber(0, 1_000_000_000_000)
    .default(200_000_000)
    .describe(
      "estimated bytes that an account's test mode may store per day (Brasília time); further writes get 429; 0 disables the limit",
    ),
  RATE_IP_IN_FLIGHT: limit
    .default(600)
    .describe(
      'requests of one client address in progress at the same time in each process; further ones wait up to 2 s; 0 disables the limit',
    ),
  RATE_FAILED_BEARERS_PER_MINUTE: limit
    .default(30)
    .describe(
      'requests with an invalid token per minute of one client address; 0 disables the limit',
    ),
  WEBHOOK_ALLOW_CIDRS: z
    .string()
    .refine(isCidrList, 'must be ranges such as 10.0.0.0/8,fd00::/8')
    .optional()
    .describe(
      'private address ranges that webhooks may reach, separated by commas; default loopback and this machine locally, none in production',
    ),
  BANK_ALLOW_CIDRS: z
    .string()
    .refine(isCidrList, 'must be ranges such as 10.0.0.0/8,fd00::/8')
    .optional()
    .describe(
      'private address ranges in which banks may be reached, separated by commas; default all locally, none in production',
    ),
  CLIENT_CERTIFICATE_HEADER: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{2,60}$/, 'must be the name of a header such as X-Client-Verify')
    .optional()
    .describe(
      'header in which the reverse proxy says SUCCESS if it has verified a client certificate; set it only if the proxy overwrites the header in every request to /api/banks',
    ),
  OWN_ADDRESSES: z
    .string()
    .refine(isAddressList, 'must be addresses or ranges such as 203.0.113.7,2001:db8::/48')
    .optional()
    .describe(
      'further addresses and ranges of this installation, separated by commas, which webhooks may not reach in production; those of PUBLIC_URL and of the network interfaces are refused anyway',
    ),
  WORKER: flag
    .default(true)
    .describe('true or false: whether the web process also runs the background jobs'),
  WORKER_LEASE_SECONDS: wholeNumber(2, 60)
    .default(30)
    .describe('seconds after which another worker claims the jobs of a killed one'),
  DRAIN_SECONDS: wholeNumber(0, 10)
    .optional()
    .describe(
      'seconds for which a web process serves after SIGTERM while /readyz says 503, so that balancers notice; default 0 locally, 5 in production',
    ),
  METRICS_PORT: port
    .optional()
    .describe('TCP port at which this process serves /metrics for Prometheus; none if unset'),
  METRICS_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('address that /metrics listens on; whoever reaches it reads the metrics'),
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url({ protocol: /^https?$/, hostname: /./, error: 'must be an http(s) address' })
    .refine(url => !hasUserInfo(url), {
      error: 'must contain no password: put it into OTEL_EXPORTER_OTLP_HEADERS',
    })
    .optional()
    .describe(
      'collector that takes spans of traces by OTLP over HTTP, such as http://127.0.0.1:4318; none are sent if unset',
    ),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .transform((text, context) => {
      const headers = parseHeaders(text)
      if (headers) return headers
      context.addIssue('must be a list such as api-key=secret,x-tenant=7, in percent-encoding')
      return z.NEVER
    })
    .optional()
    .describe('headers for the collector, such as api-key=secret,x-tenant=7, in percent-encoding'),
  OTEL_SERVICE_NAME: z
    .string()
    .max(100)
    .default('troco')
    .describe('name of this installation in traces'),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('lowest level that is logged: debug, info, warn, error or silent'),
  LOG_FILE: z.string().optional().describe('file for the log; standard error if unset'),
})

type Parsed = z.infer<typeof schema>
interface Env extends Parsed {
  TROCO_ENV: 'local' | 'production'
  PUBLIC_URL: string
  SIGNUPS: 'open' | 'invite' | 'closed'
  NEW_ACCOUNTS: 'active' | 'pending'
  MAIL_FROM: string
  DRAIN_SECONDS: number
}

/** Returns name, meaning and default of each variable, for .env.example. */
export function describeVariables(): { name: string; meaning: string; fallback: string }[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const empty = field.safeParse(undefined)
    const fallback = empty.success && empty.data !== undefined ? String(empty.data) : ''
    return { name, meaning: field.description ?? '', fallback }
  })
}

/** A blank value counts as unset. Throws one error that lists every problem. */
export function readEnv(source: Record<string, string | undefined>): Env {
  const filled = Object.fromEntries(
    Object.keys(schema.shape).map(name => [name, source[name]?.trim() || undefined]),
  )
  const result = schema.safeParse(filled)
  const problems = result.success
    ? []
    : result.error.issues.map(issue => `${issue.path.join('.')} ${lowerFirst(issue.message)}`)
  const environment = filled.TROCO_ENV ?? (filled.DATABASE_URL ? 'production' : 'local')
  if (result.success) problems.push(...burstProblems(result.data), ...providerProblems(result.data))
  if (filled.DATABASE_OWNER_URL && !filled.DATABASE_URL)
    problems.push('DATABASE_OWNER_URL is set without DATABASE_URL: set both, or neither')
  if (filled.DATABASE_DIRECT_URL && !filled.DATABASE_URL)
    problems.push('DATABASE_DIRECT_URL is set without DATABASE_URL: set both, or neither')
  if (filled.OTEL_EXPORTER_OTLP_HEADERS && !filled.OTEL_EXPORTER_OTLP_ENDPOINT)
    problems.push(
      'OTEL_EXPORTER_OTLP_HEADERS is set without OTEL_EXPORTER_OTLP_ENDPOINT: set both, or neither',
    )
  if (environment === 'production') problems.push(...productionProblems(filled))
  if (!result.success || problems.length > 0) throw new EnvError(problems)
  const values = result.data
  const address = (values.PUBLIC_URL ?? `http://localhost:${values.PORT}`).replace(
    /(?<!\/)\/+$/,
    '',
  )
  const isLocal = environment === 'local'
  return {
    ...values,
    TROCO_ENV: environment as Env['TROCO_ENV'],
    PUBLIC_URL: address,
    SIGNUPS: values.SIGNUPS ?? (isLocal ? 'open' : 'invite'),
    NEW_ACCOUNTS: values.NEW_ACCOUNTS ?? (isLocal ? 'active' : 'pending'),
    DRAIN_SECONDS: values.DRAIN_SECONDS ?? (isLocal ? 0 : 5),
    MAIL_FROM: values.MAIL_FROM ?? `Troco <no-reply@${new URL(address).hostname}>`,
  }
}

export class EnvError extends Error {
  constructor(problems: string[]) {
    super(`Check the environment: ${problems.join('; ')}`)
    this.name = 'EnvError'
  }
}

function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error })
}

function burstProblems(values: Parsed): string[] {
  return (['TOKEN', 'IP'] as const).flatMap(name => {
    const rate = values[`RATE_${name}_PER_SECOND`]
    const burst = values[`RATE_${name}_BURST`]
    if (burst === 0 || burst >= rate) return []
    return `RATE_${name}_BURST is ${burst}: it must be 0 or at least RATE_${name}_PER_SECOND, ${rate}`
  })
}

function providerProblems({ OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }: Parsed): string[] {
  const settings = { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  const missing = Object.entries(settings).flatMap(([name, value]) => (value ? [] : [name]))
  if (missing.length === 0 || missing.length === 3) return []
  return missing.map(
    name => `${name} is missing: set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET together`,
  )
}

function productionProblems(filled: Record<string, string | undefined>): string[] {
  const problems: string[] = []
  const secret = filled.TROCO_SECRET
  if (!secret) {
    problems.push('TROCO_SECRET is missing: generate one with `openssl rand -base64 48`')
  } else if (secret.length < SECRET_LENGTH_MIN) {
    problems.push(`TROCO_SECRET is too short: it needs at least ${SECRET_LENGTH_MIN} characters`)
  } else if (WELL_KNOWN_SECRET.test(secret)) {
    problems.push('TROCO_SECRET is well known: generate one with `openssl rand -base64 48`')
  }
  const address = filled.PUBLIC_URL
  if (!address) problems.push('PUBLIC_URL is missing: set it to the https address of this server')
  else if (!/^https:/.test(address) && !isLoopback(address))
    problems.push('PUBLIC_URL must be https')
  return problems
}

function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname ?? ''
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host)
}

/** Headers that the exporter sets itself. */
const OWN_HEADERS =
  /^(host|connection|content-(length|type|encoding)|transfer-encoding|expect|upgrade|te|trailer)$/

/** Parses the list of OpenTelemetry's variables. Returns null if a header could not be sent. */
function parseHeaders(text: string): Record<string, string> | null {
  try {
    const pairs = text.split(',').map(pair => {
      const [name = '', ...value] = pair.split('=')
      return [name.trim().toLowerCase(), decodeURIComponent(value.join('=').trim())] as const
    })
    const canBeSent = ([name, value]: readonly [string, string]) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !OWN_HEADERS.test(name) && /^[\x20-\x7e]+$/.test(value)
    return pairs.every(canBeSent) ? Object.fromEntries(pairs) : null
  } catch {
    return null
  }
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

function isAddressList(text: string): boolean {
  return text.split(',').every(range => isIP(range.trim()) !== 0 || isCidrList(range))
}

export function isCidrList(text: string): boolean {
  return text.split(',').every(range => {
    const [address = '', bits = '', ...rest] = range.trim().split('/')
    const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= widest
  })
}

let cachedEnv: Env | undefined

/** Returns the settings of the process. Read on first use, so that a build needs no environment. */
export function env(): Env {
  cachedEnv ??= readEnv(process.env)
  return cachedEnv
}

/** Adds settings. Writes `process.env`, because Next's bundle has its own copy of this module. */
export function supplyEnv(values: Record<string, string>): void {
  Object.assign(process.env, values)
  cachedEnv = undefined
}

/** Loads a `.env` file if it exists; throws if it exists and cannot be read. Variables that are already set take precedence. */
export function loadEnvFile(file: string): void {
  // A blank variable counts as unset, but process.loadEnvFile would not overwrite it.
  for (const { name } of describeVariables()) {
    if (process.env[name]?.trim() === '') delete process.env[name]
  }
  for (const [name, value] of Object.entries(parseEnv(readEnvFile(file))))
    if (value !== undefined) process.env[name] ??= value
}

/** Returns the text of the file, or none if it does not exist; a link that leads nowhere exists. */
function readEnvFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const isAbsent = code === 'ENOENT' && !lstatSync(file, { throwIfNoEntry: false })
    if (isAbsent) return ''
    throw new EnvError([
      `${file} cannot be read (${code}): let this user read it, or remove it and set the variables yourself`,
    ])
  }
}

export function inheritedEnv(): NodeJS.ProcessEnv {
  return { ...process.env }
}
