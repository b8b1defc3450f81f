import { AsyncLocalStorage } from 'node:async_hooks'
import pino from 'pino'
import pretty from 'pino-pretty'
import { env } from '#lib/base/env.ts'
import { databaseFault, isTrocoError } from '#lib/base/errors.ts'
import { isInvariant } from '#lib/base/invariant.ts'

const HOLDER = Symbol.for('troco.log')
const holder = globalThis as typeof globalThis & { [HOLDER]?: pino.Logger }

/**
 * Names of values that must never be written, at any depth we log. The rule is to pass only ids
 * and counts; this is the net below it.
 */
const REDACTED = ['token', 'secret', 'password', 'authorization', 'cookie', 'client_doc', 'pix_key']

/** One logger per process, shared by the native modules and Next's copy of them. */
export function log(): pino.Logger {
  holder[HOLDER] ??= createLog()
  return holder[HOLDER]
}

function createLog(): pino.Logger {
  const { LOG_LEVEL, LOG_FILE, TROCO_ENV } = env()
  const options: pino.LoggerOptions = {
    level: LOG_LEVEL,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
    mixin: () => {
      const { ip: _, ...logged } = contextNow()
      return logged
    },
    redact: { paths: REDACTED.flatMap(name => [name, `*.${name}`]), censor: '[hidden]' },
    serializers: { err: describeError },
  }
  if (LOG_FILE) return pino(options, pino.destination({ dest: LOG_FILE, mkdir: true, sync: true }))
  if (TROCO_ENV === 'production' || !process.stderr.isTTY) {
    return pino(options, pino.destination({ dest: 2, sync: true }))
  }
  const readable = pretty({
    destination: 2,
    sync: true,
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: false,
  })
  return pino(options, readable)
}

export interface LogContext {
  requestId?: string
  accountId?: string
  /** Where the request came from. It goes to the audit, not into the log. */
  ip?: string | null
}

const CONTEXTS = Symbol.for('troco.log.contexts')

/** Runs work whose every line in the log carries the request's id and, once known, the account's. */
export function inContext<T>(context: LogContext, work: (noted: LogContext) => T): T {
  return contexts().run(context, work, context)
}

/** What is known of the request that is being worked on; nothing outside of one. */
export function contextNow(): LogContext {
  return contexts().getStore() ?? {}
}

function contexts(): AsyncLocalStorage<LogContext> {
  const shared = globalThis as typeof globalThis & { [CONTEXTS]?: AsyncLocalStorage<LogContext> }
  shared[CONTEXTS] ??= new AsyncLocalStorage()
  return shared[CONTEXTS]
}

/**
 * Serializes an error for the log. A refusal and a broken invariant keep their message; a database
 * error keeps code, constraint and table only, an unknown error its kind and stack.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (isTrocoError(error)) {
    const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
    return { code: error.code, message: error.message, ...cause }
  }
  const fault = databaseFault(error)
  if (fault.code !== undefined) return { ...fault }
  if (!(error instanceof Error)) return { kind: typeof error }
  // The engine's own messages hold no stored data, and an invariant's must not; any other might.
  const isSafe = isInvariant(error) || /^(Type|Reference)Error$/.test(error.name)
  const message = isSafe ? { message: error.message } : {}
  const frames = error.stack?.split('\n').filter(line => /^\s+at /.test(line)) ?? []
  return { kind: error.name, ...message, at: frames.slice(0, 12).map(line => line.trim()) }
}
