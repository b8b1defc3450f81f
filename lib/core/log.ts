import { AsyncLocalStorage } from 'node:async_hooks'
import { mkdirSync, openSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import pino from 'pino'
import pretty from 'pino-pretty'
import { isDatabaseUnavailable, isTrocoError, parseDatabaseError } from '#lib/core/errors.ts'
import { isInvariant } from '#lib/core/invariant.ts'
import { processWide } from '#lib/core/process-wide.ts'
import { env } from '#lib/core/settings.ts'

interface Loggers {
  main: pino.Logger
  /** Without redaction, which costs three times as much as the line: the fields are fixed. */
  logRequest: (level: 'info' | 'debug', describe: () => string) => void
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

interface RequestFields {
  method: string
  route: string
  status: number
  code: string | undefined
  mode: string | undefined
  tookMs: number
}

/**
 * Logs a request whose context is passed, because it has left it. The line is put together by hand, in a third of the time
 * of JSON.stringify: its values but the last three are ids, numbers and names of this program.
 */
export function logRequest(
  { requestId, accountId, trace, cause }: LogContext,
  { method, route, status, code, mode, tookMs }: RequestFields,
  message: 'request completed' | 'stream began' | 'stream ended',
  level: 'info' | 'debug',
): void {
  loggers().logRequest(
    level,
    () =>
      field('requestId', requestId) +
      field('accountId', accountId) +
      field('traceId', trace?.traceId) +
      field('method', method) +
      field('mode', mode) +
      `"status":${status},"tookMs":${tookMs},"msg":"${message}","route":${JSON.stringify(route)}` +
      (code === undefined ? '' : `,"code":${JSON.stringify(code)}`) +
      (cause === undefined ? '' : `,"cause":${JSON.stringify(cause)}`),
  )
}

function field(name: string, value: string | undefined): string {
  return value === undefined ? '' : `"${name}":"${value}",`
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
  const baseText = JSON.stringify(base).slice(1, -1)
  const readTime = createClock()
  const logRequest: Loggers['logRequest'] = (level, describe) => {
    if (!main.isLevelEnabled(level)) return
    output.writeSoon(`{"level":"${level}","time":"${readTime()}",${baseText},${describe()}}\n`)
  }
  return { main, logRequest }
}

/** Returns a function that formats the time, once for all lines of one millisecond. */
function createClock(): () => string {
  let formatted = { at: 0, text: '' }
  return () => {
    const at = Date.now()
    if (at !== formatted.at) formatted = { at, text: new Date(at).toISOString() }
    return formatted.text
  }
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
export interface TraceContext {
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
  trace?: TraceContext
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

/** Each cause is printed at most once in this time. */
const REPEAT_MS = 1_000

/** Fields that separate causes with the same error, and that the line which counts the others has, too. */
const KEPT_FIELDS = ['job', 'code', 'reason']

type Line = [fields: object, message: string]
interface Repeat {
  suppressed: number
  print: () => void
}

interface Verdict {
  isAdmitted: boolean
  /** Short text of the logged error, if any. */
  cause: string | undefined
}

/**
 * Returns a function that admits a line whose cause has not been printed for a second: the message with its
 * fields, or with its error, job, code and reason. `print` gets a line that counts the others.
 */
function createRepeatLimit(describe: (error: unknown) => Record<string, unknown>) {
  const repeats = new Map<string, Repeat>()

  function startSecond(key: string): void {
    const timer = setTimeout(() => {
      const repeat = repeats.get(key)
      if (!repeat || repeat.suppressed === 0) return void repeats.delete(key)
      repeat.print()
      repeat.suppressed = 0
      startSecond(key)
    }, REPEAT_MS)
    timer.unref()
  }

  process.once('exit', () => {
    for (const { suppressed, print } of repeats.values()) if (suppressed > 0) print()
  })

  return (args: unknown[], print: (line: Line) => void): Verdict => {
    const fields: { err?: unknown } = typeof args[0] === 'object' ? (args[0] ?? {}) : {}
    const message = String(args.find(value => typeof value === 'string') ?? '')
    const { err } = fields
    const described = err === undefined ? null : describe(err)
    const kept = described ? pickKept({ ...described, ...fields }) : fields
    const key = `${message} ${stringify({ ...kept, ...(described && firstFrameOnly(described)) })}`
    const cause = described ? shorten(described) : undefined
    const known = repeats.get(key)
    if (known) {
      known.suppressed++
      return { isAdmitted: false, cause }
    }
    const repeat = {
      suppressed: 0,
      print: () =>
        print([{ ...kept, suppressed: repeat.suppressed, ...(cause && { cause }) }, message]),
    }
    repeats.set(key, repeat)
    startSecond(key)
    return { isAdmitted: true, cause }
  }
}

/** Unlike the rest of the stack, which shows how the failing code was reached. */
function firstFrameOnly({ at, ...described }: Record<string, unknown>) {
  return { ...described, at: Array.isArray(at) ? at[0] : at }
}

function pickKept(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => KEPT_FIELDS.includes(name)))
}

function shorten({ kind, code, reason, constraint, message }: Record<string, unknown>): string {
  return [kind, code, reason, constraint, message].filter(Boolean).join(' ')
}

function stringify(value: object): string {
  return JSON.stringify(value, (_name, each) => (typeof each === 'bigint' ? String(each) : each))
}

/** A line of a request waits this long for others, because a line of its own costs a system call. */
const GATHER_MS = 20
/** Log that waits for its reader; what exceeds it is dropped. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
const RETRY_MS = 20
/** Time for the reader to take what still waits when the process exits. */
const EXIT_WAIT_MS = 1_000

interface LogOutput {
  write: (line: string) => void
  /** Writes the line with the ones that follow within 20 ms. Lost with a process that dies without exit handlers. */
  writeSoon: (line: string) => void
}

/**
 * Writes without waiting for the reader, who must not be able to stop the server. Only a named pipe that
 * was opened to block can. Lines that found no room are counted in a line of their own.
 */
export function openLogOutput(fd: number): LogOutput {
  let lines: string[] = []
  let linesLength = 0
  let droppedCount = 0
  /** Rest of the lines that were taken last. */
  let unwritten = Buffer.alloc(0)
  /** The reader has left no room, so the next attempt waits for the timer. */
  let isBlocked = false
  let timer: NodeJS.Timeout | undefined

  function write(line: string): void {
    keep(line)
    if (!isBlocked) flush()
  }

  function writeSoon(line: string): void {
    keep(line)
    timer ??= setTimeout(flush, GATHER_MS).unref()
  }

  function keep(line: string): void {
    if (linesLength + unwritten.length > WAITING_BYTES_MAX) return void droppedCount++
    lines.push(line)
    linesLength += line.length
  }

  function flush(): void {
    clearTimeout(timer)
    isBlocked = !writeWaiting()
    timer = isBlocked ? setTimeout(flush, RETRY_MS).unref() : undefined
  }

  /** Returns whether nothing waits any more. Without a reader or room on the disk, drops it. */
  function writeWaiting(): boolean {
    try {
      for (;;) {
        if (unwritten.length === 0) unwritten = Buffer.from(takeLines())
        if (unwritten.length === 0) return true
        unwritten = unwritten.subarray(writeSync(fd, unwritten))
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false
      unwritten = Buffer.alloc(0)
      return true
    }
  }

  function takeLines(): string {
    const taken = lines.join('') + (droppedCount > 0 ? describeDropped(droppedCount) : '')
    lines = []
    linesLength = 0
    droppedCount = 0
    return taken
  }

  process.once('exit', () => {
    const endsAt = performance.now() + EXIT_WAIT_MS
    const pause = new Int32Array(new SharedArrayBuffer(4))
    while (!writeWaiting() && performance.now() < endsAt) Atomics.wait(pause, 0, 0, RETRY_MS)
  })
  return { write, writeSoon }
}

function describeDropped(dropped: number): string {
  const msg = 'log lines dropped, because nobody read them'
  return `${JSON.stringify({ level: 'warn', time: new Date().toISOString(), dropped, msg })}\n`
}

/** Codes that mean more than their class: appendix A of PostgreSQL's manual, and those of the driver. */
const CODES: Record<string, string> = {
  '22003': 'number out of range',
  '23502': 'value missing',
  '23503': 'referenced row missing or still referenced',
  '23505': 'duplicate key',
  '23514': 'CHECK violated',
  '25006': 'read-only transaction',
  '40001': 'serialization failure',
  '40P01': 'deadlock',
  '42501': 'privilege missing',
  '42703': 'unknown column',
  '42883': 'unknown function',
  '42P01': 'unknown table',
  '53100': 'disk full',
  '53200': 'out of memory',
  '53300': 'too many connections',
  '55P03': 'lock not available',
  '57014': 'statement cancelled or timed out',
  '57P01': 'connection ended by the database',
  '57P03': 'database starting or stopping',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ETIMEDOUT: 'connection timed out',
  ENOTFOUND: 'host not found',
  P1001: 'database not reachable',
  P1002: 'connection timed out',
  P1017: 'connection closed',
  P2002: 'duplicate key',
  P2003: 'referenced row missing or still referenced',
  P2024: 'no free connection in time',
  P2025: 'row not found',
  P2028: 'transaction ended',
  TR401: 'caller refused by the statement',
  TR422: 'refused by a function',
}

const CLASSES: Record<string, string> = {
  '08': 'connection failed',
  '0A': 'not supported',
  '22': 'invalid value',
  '23': 'constraint violated',
  '25': 'invalid transaction state',
  '28': 'authentication failed',
  '3D': 'unknown database',
  '40': 'transaction rolled back',
  '42': 'invalid statement or privilege missing',
  '53': 'resources exhausted',
  '54': 'limit exceeded',
  '55': 'object not in the required state',
  '57': 'stopped by an operator',
  '58': 'system error',
  P0: 'raised by a function',
  XX: 'internal error of the database',
}

/** Says what a code of a database error means, without the error's values. */
function reasonOf(code: string): string | undefined {
  return CODES[code] ?? (code.length === 5 ? CLASSES[code.slice(0, 2)] : undefined)
}

/** The log removes stored data: Next and other libraries print a database error with its row. */
export function redirectConsole(): void {
  console.error = (...args) => log().error({ err: findError(args) }, 'library error')
  console.warn = (...args) => log().warn({ err: findError(args) }, 'library warning')
}

function findError(args: unknown[]): unknown {
  return args.find(value => value instanceof Error) ?? args.find(value => typeof value === 'object')
}
