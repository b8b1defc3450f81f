import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdirSync, openSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import pino from 'pino'
import pretty from 'pino-pretty'
import { env } from '#lib/core/env.ts'
import { isDatabaseUnavailable, isTrocoError, parseDatabaseError } from '#lib/core/errors.ts'
import { isInvariant } from '#lib/core/invariant.ts'
import { type LogOutput, openLogOutput } from '#lib/core/log-output.ts'
import { createRepeatLimit } from '#lib/core/log-repeats.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { reasonOf } from '#lib/core/sqlstate.ts'

interface Loggers {
  main: pino.Logger
  /** Without redaction, which costs three times as much as the line: the fields are fixed. */
  requests: pino.Logger
}

const shared = processWide('log', () => ({
  loggers: null as Loggers | null,
  role: 'command' as 'web' | 'worker' | 'command',
}))
const contexts = processWide('log.contexts', () => new AsyncLocalStorage<LogContext>())

/** Level of warnings in pino, from which lines are limited. */
const WARN = 40

/** Field names that are redacted. A safety net: the rule is to log only ids and counts. */
const REDACTED_FIELDS = [
  'token',
  'secret',
  'password',
  'authorization',
  'cookie',
  'client_doc',
  'owner_doc',
  'pix_key',
]

export function log(): pino.Logger {
  return loggers().main
}

function loggers(): Loggers {
  shared.loggers ??= createLoggers()
  return shared.loggers
}

/** Names what the process does in each line. Called before the first line. */
export function setLogRole(role: 'web' | 'worker'): void {
  shared.role = role
}

/** Logs a request whose context is passed, because it has left it. */
export function logRequest(
  { requestId, accountId, trace, cause }: LogContext,
  fields: object,
  message: string,
  level: 'info' | 'debug',
): void {
  loggers().requests[level](
    { requestId, accountId, traceId: trace?.traceId, ...fields, cause },
    message,
  )
}

function createLoggers(): Loggers {
  const base = { role: shared.role, host: hostname() }
  const options: pino.LoggerOptions = {
    level: env().LOG_LEVEL,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: label => ({ level: label }) },
  }
  const limit = createRepeatLimit(describeError)
  const output = openOutput()
  const main = pino(
    {
      ...options,
      base: null,
      // Not as pino's base, which would repeat a field that a line names itself.
      mixin: () => {
        const { requestId, accountId, trace } = currentLogContext()
        return { ...base, requestId, accountId, traceId: trace?.traceId }
      },
      redact: { paths: REDACTED_FIELDS.flatMap(name => [name, `*.${name}`]), censor: '[hidden]' },
      serializers: { err: describeError },
      hooks: {
        logMethod(args, method, level) {
          if (level < WARN) return method.apply(this, args)
          const print = (line: Parameters<typeof method>) =>
            withLogContext({}, () => method.apply(this, line))
          const { isAdmitted, cause } = limit(args, print)
          if (cause) currentLogContext().cause = cause
          if (isAdmitted) method.apply(this, args)
        },
      },
    },
    output,
  )
  return { main, requests: pino({ ...options, base }, { write: output.writeSoon }) }
}

function openOutput(): LogOutput {
  const { LOG_FILE, TROCO_ENV } = env()
  if (LOG_FILE) {
    mkdirSync(dirname(LOG_FILE), { recursive: true })
    return openLogOutput(openSync(LOG_FILE, 'a'))
  }
  // Node opens standard error, which makes a pipe return EAGAIN instead of blocking.
  if (TROCO_ENV === 'production' || !process.stderr.isTTY) return openLogOutput(process.stderr.fd)
  const terminal = pretty({
    destination: 2,
    sync: true,
    translateTime: 'SYS:HH:MM:ss.l',
    hideObject: false,
  })
  const write = (line: string) => void terminal.write(line)
  return { write, writeSoon: write }
}

/** Part of a trace (W3C Trace Context) that this process measures. */
export interface Trace {
  traceId: string
  spanId: string
  /** Span of the caller that continues here. */
  parentId?: string
  isSampled: boolean
}

export interface LogContext {
  requestId?: string
  accountId?: string
  /** Client address. It is stored in the audit log and omitted from log lines. */
  ip?: string | null
  /** Identifies the caller to lib/db/fair-pool.ts until the account is known. Not logged. */
  tokenPrefix?: string
  /** Its id is logged as `traceId`. */
  trace?: Trace
  /** Error that was logged last, in short, for the line of the request. */
  cause?: string
}

/** Runs `work` with a context whose request id and account id are added to every log line. */
export function withLogContext<T>(context: LogContext, work: (context: LogContext) => T): T {
  return contexts.run(context, work, context)
}

/** Computes the values in the present context; a generator alone runs in that of its reader. */
export function keepLogContext<T>(values: AsyncIterable<T>): AsyncIterable<T> {
  const inContext = AsyncLocalStorage.snapshot()
  const source = values[Symbol.asyncIterator]()
  const end = async () => (await source.return?.()) ?? { done: true as const, value: undefined }
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => inContext(() => source.next()),
      return: () => inContext(end),
    }),
  }
}

export function currentLogContext(): LogContext {
  return contexts.getStore() ?? {}
}

/** Logs an error under a message, or as an unavailable database if it is one. */
export function logFailure(error: unknown, message: string, fields: object = {}): void {
  const isDown = isDatabaseUnavailable(error)
  log().error({ err: error, ...fields }, isDown ? 'database unavailable' : message)
}

/**
 * Serializes an error for the log. Refusals and broken invariants include their message, database
 * errors only code, what the code means, constraint and table, unknown errors only kind and stack.
 */
export function describeError(error: unknown): Record<string, unknown> {
  if (isTrocoError(error)) {
    const cause = error.cause === undefined ? {} : { cause: describeError(error.cause) }
    return { code: error.code, message: error.message, ...cause }
  }
  const fault = parseDatabaseError(error)
  if (fault.code !== undefined) return { ...fault, reason: reasonOf(fault.code) }
  if (!(error instanceof Error)) return { kind: typeof error }
  // Messages of type and reference errors contain no stored data; an Invariant's must not.
  const isSafe = isInvariant(error) || /^(Type|Reference)Error$/.test(error.name)
  const message = isSafe ? { message: error.message } : {}
  const frames = error.stack?.split('\n').filter(line => /^\s+at /.test(line)) ?? []
  return { kind: error.name, ...message, at: frames.slice(0, 12).map(line => line.trim()) }
}
