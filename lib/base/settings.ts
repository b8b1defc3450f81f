// Over the house budget: what can be set stands in one list, with what is wrong about it.

import { isIP } from 'node:net'
import * as z from 'zod'

const port = wholeNumber(1, 65_535)
const count = wholeNumber(0, 1_000)
const limit = wholeNumber(0, 1_000_000)
const flag = z.enum(['true', 'false']).transform(value => value === 'true')

/** Secrets that stand in documents and examples; production refuses them. */
const WELL_KNOWN = /^(secret|changeme|change-me|password|troco|test|example|default)|^(.)\2+$/i
const SECRET_MIN = 32

const schema = z.object({
  TROCO_ENV: z
    .enum(['local', 'production'])
    .optional()
    .describe('local or production; local without DATABASE_URL, production with it, unless said'),
  PORT: port.default(3000).describe('the port of the web server'),
  HOST: z.string().default('127.0.0.1').describe('the address that the web server listens on'),
  PUBLIC_URL: z
    .url({
      protocol: /^https?$/,
      error: 'must be an http(s) address such as https://pay.example.com',
    })
    .optional()
    .describe('the address that people and programs reach it by; default http://localhost:PORT'),
  TROCO_DATA: z.string().default('.troco').describe('the data folder of the PostgreSQL inside'),
  TROCO_SECRET: z
    .string()
    .optional()
    .describe(
      `the server key, at least ${SECRET_MIN} characters; made in the data folder in local use`,
    ),
  TROCO_SECRET_BEFORE: z
    .string()
    .min(SECRET_MIN, `must have at least ${SECRET_MIN} characters`)
    .optional()
    .describe('the server key before this one: what was made with it goes on working'),
  SIGNUPS: z
    .enum(['open', 'invite', 'closed'])
    .optional()
    .describe('open, invite or closed: who may open an account; locally open, else invite'),
  NEW_ACCOUNTS: z
    .enum(['active', 'pending'])
    .optional()
    .describe(
      'active or pending: whether an account that somebody opened waits for an admin; locally active, else pending',
    ),
  SMTP_URL: z
    .url({
      protocol: /^smtps?$/,
      hostname: /./,
      error: 'must begin with smtp:// or smtps:// and be a whole address',
    })
    .optional()
    .describe(
      'the mail server, as in smtps://user:password@mail.example.com; locally mails are printed to the log without it',
    ),
  MAIL_FROM: z
    .string()
    .regex(/^[^<>@\r\n]*<[^\s<>@]+@[^\s<>@]+>$|^[^\s<>@]+@[^\s<>@]+$/, {
      error: 'must be an address such as Troco <troco@example.com>',
    })
    .optional()
    .describe('whom mails come from; default no-reply at the host of PUBLIC_URL'),
  OIDC_ISSUER: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .optional()
    .describe('the issuer of an OpenID provider by which people may sign in too'),
  OIDC_CLIENT_ID: z.string().optional().describe('what the provider calls this installation'),
  OIDC_CLIENT_SECRET: z.string().optional().describe('the secret that goes with it'),
  OIDC_NAME: z
    .string()
    .max(40)
    .default('OpenID')
    .describe('what its button on the sign-in page says'),
  DEMO_PASSWORD: z
    .string()
    .min(12, 'must have at least 12 characters')
    .optional()
    .describe('the password of both demo sign-ins; made in the data folder when unset'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgresql://')
    .optional()
    .describe('a PostgreSQL of yours, 15 or newer; without it the one inside is started'),
  DATABASE_POOL_MAX: wholeNumber(2, 200)
    .default(10)
    .describe('database connections of one process'),
  PG_NAMED_STATEMENTS: flag
    .default(true)
    .describe('true or false; false behind a PgBouncer older than 1.21'),
  TRUST_PROXY: count
    .default(0)
    .describe('how many proxies in front of it to believe about addresses'),
  REDIS_URL: z
    .url({
      protocol: /^rediss?$/,
      hostname: /./,
      error: 'must begin with redis:// or rediss:// and be a whole address',
    })
    .optional()
    .describe('a Redis or Valkey in which several processes count their rate limits together'),
  RATE_TOKEN_PER_SECOND: limit.default(100).describe('requests a second of one token; 0 is off'),
  RATE_TOKEN_BURST: limit
    .default(200)
    .describe('requests at once of a token that was quiet; 0 is RATE_TOKEN_PER_SECOND'),
  RATE_IP_PER_SECOND: limit.default(200).describe('requests a second of one address; 0 is off'),
  RATE_IP_BURST: limit
    .default(400)
    .describe('requests at once of an address that was quiet; 0 is RATE_IP_PER_SECOND'),
  RATE_FAILED_BEARERS_PER_MINUTE: limit
    .default(30)
    .describe('failed bearers a minute of one address; 0 is off'),
  API_LANE: z
    .enum(['fast', 'next'])
    .default('fast')
    .describe('fast or next: whether the front or Next answers under /api'),
  WEBHOOK_ALLOW_CIDRS: z
    .string()
    .refine(isCidrList, 'must be ranges such as 10.0.0.0/8,fd00::/8')
    .optional()
    .describe(
      'private ranges that webhooks may go to; locally loopback and this machine, else none',
    ),
  WORKER: flag.default(true).describe('true or false: whether the web process works off jobs too'),
  WORKER_LEASE_SECONDS: wholeNumber(2, 60)
    .default(30)
    .describe('how soon the work of a worker that was killed is taken up by another'),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('the least important line that is logged'),
  LOG_FILE: z.string().optional().describe('a file for the log; standard error when unset'),
})

type Parsed = z.infer<typeof schema>
export interface Env extends Parsed {
  TROCO_ENV: 'local' | 'production'
  PUBLIC_URL: string
  SIGNUPS: 'open' | 'invite' | 'closed'
  NEW_ACCOUNTS: 'active' | 'pending'
  MAIL_FROM: string
}

/** Name, meaning and default of each variable, for .env.example, the README and `troco doctor`. */
export function describeVariables(): { name: string; meaning: string; fallback: string }[] {
  return Object.entries(schema.shape).map(([name, field]) => {
    const empty = field.safeParse(undefined)
    const fallback = empty.success && empty.data !== undefined ? String(empty.data) : ''
    return { name, meaning: field.description ?? '', fallback }
  })
}

/** Reads the variables, blank as unset. Every problem of every variable stands in one message. */
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
  if (environment === 'production') problems.push(...productionProblems(filled))
  if (!result.success || problems.length > 0) throw new EnvError(problems)
  const values = result.data
  const address = (values.PUBLIC_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, '')
  const isLocal = environment === 'local'
  return {
    ...values,
    TROCO_ENV: environment as Env['TROCO_ENV'],
    PUBLIC_URL: address,
    SIGNUPS: values.SIGNUPS ?? (isLocal ? 'open' : 'invite'),
    NEW_ACCOUNTS: values.NEW_ACCOUNTS ?? (isLocal ? 'active' : 'pending'),
    MAIL_FROM: values.MAIL_FROM ?? `Troco <no-reply@${new URL(address).hostname}>`,
  }
}

export class EnvError extends Error {
  constructor(problems: string[]) {
    super(`Check the environment: ${problems.join('; ')}`)
    this.name = 'EnvError'
  }
}

function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`
  return z.coerce.number({ error }).int({ error }).min(least, { error }).max(most, { error })
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
  const given = { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET }
  const missing = Object.entries(given).flatMap(([name, value]) => (value ? [] : [name]))
  if (missing.length === 0 || missing.length === 3) return []
  return missing.map(name => `${name} is missing: an OpenID provider needs all three`)
}

function productionProblems(filled: Record<string, string | undefined>): string[] {
  const problems: string[] = []
  const secret = filled.TROCO_SECRET
  if (!secret) {
    problems.push('TROCO_SECRET is missing: make one with `openssl rand -base64 48`')
  } else if (secret.length < SECRET_MIN) {
    problems.push(`TROCO_SECRET is too short: it needs at least ${SECRET_MIN} characters`)
  } else if (WELL_KNOWN.test(secret)) {
    problems.push('TROCO_SECRET is well known: make one with `openssl rand -base64 48`')
  }
  const address = filled.PUBLIC_URL
  if (!address) problems.push('PUBLIC_URL is missing: the https address that people reach this by')
  else if (!/^https:/.test(address) && !isLoopback(address))
    problems.push('PUBLIC_URL must be https')
  return problems
}

function isLoopback(address: string): boolean {
  const host = URL.parse(address)?.hostname ?? ''
  return host === 'localhost' || host === '[::1]' || /^127\./.test(host)
}

function lowerFirst(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1)
}

function isCidrList(text: string): boolean {
  return text.split(',').every(range => {
    const [address = '', bits = '', ...rest] = range.trim().split('/')
    const widest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    return rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= widest
  })
}
