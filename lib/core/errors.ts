import type { ExceededLimit } from '#lib/core/refusals.ts'
import {
  type ErrorCode,
  type FieldProblems,
  REFUSALS,
  type RefuseArguments,
} from '#lib/core/refusals.ts'

interface Details {
  fields?: FieldProblems
  /** Field that the message is about, where the code does not fix it. */
  field?: string
  permission?: string
  /** Seconds until the same request may be sent again. */
  retryAfterS?: number
  limit?: ExceededLimit
  /** Methods of the path. */
  allow?: string
  /** Epoch of the account's event feed. */
  epoch?: string
  continueAfter?: number
  lastSequence?: number
  lastKept?: number
  cause?: unknown
}

// Never test with instanceof: one process loads this class twice, natively and in Next's bundle.
export class TrocoError extends Error {
  readonly code: ErrorCode
  readonly fields: FieldProblems | undefined
  readonly permission: string | undefined
  readonly retryAfterS: number | undefined
  readonly limit: ExceededLimit | undefined
  readonly allow: string | undefined
  readonly epoch: string | undefined
  readonly continueAfter: number | undefined
  readonly lastSequence: number | undefined
  readonly lastKept: number | undefined

  constructor(code: ErrorCode, message: string, details: Details = {}) {
    super(message, { cause: details.cause })
    this.name = 'TrocoError'
    this.code = code
    this.fields = details.fields
    this.permission = details.permission
    this.retryAfterS = details.retryAfterS
    this.limit = details.limit
    this.allow = details.allow
    this.epoch = details.epoch
    this.continueAfter = details.continueAfter
    this.lastSequence = details.lastSequence
    this.lastKept = details.lastKept
  }
}

/** Returns the error for a code, with the message from REFUSALS. The caller throws it. */
export function refuse<Code extends ErrorCode>(
  code: Code,
  ...args: RefuseArguments<Code>
): TrocoError {
  const { message, field: fixedField } = REFUSALS[code]
  const text = typeof message === 'string' ? message : message(...(args as never[]))
  const details = args.find(value => typeof value === 'object') as Details | undefined
  const field = fixedField ?? details?.field
  return new TrocoError(code, text, { ...(field && { fields: { [field]: [text] } }), ...details })
}

/** Error for the operator: the installation or the start failed. */
export function setupError(message: string, cause?: unknown): TrocoError {
  return new TrocoError('setup_failed', message, { cause })
}

/** `rule` follows the field's name in the message, as in `must be a number`. */
export function invalidInput(field: string, rule: string): TrocoError {
  const message = `${field} ${rule}`
  return refuse('invalid_input', { message, fields: { [field]: [message] } })
}

export function isTrocoError(error: unknown): error is TrocoError {
  return error instanceof Error && error.name === 'TrocoError'
}

/** Database unreachable or read-only (25006), resources exhausted (53…), I/O error (58030). */
const UNAVAILABLE_CODES =
  /^(08...|57P0[1-3]|57014|53...|58030|25006|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|P1001|P1002|P1017|P2024|P2028)$/

/** Prisma's code of each error name: for raw statements, the adapter reports only the name. */
const ADAPTER_ERROR_CODES: Record<string, string> = {
  DatabaseNotReachable: 'P1001',
  ConnectionClosed: 'P1017',
  SocketTimeout: 'P1002',
}

interface DatabaseErrorInfo {
  code: string | undefined
  constraint: string | undefined
  table: string | undefined
}

/** The message and `detail` can contain whole rows with payers' documents: never log them. */
export function parseDatabaseError(error: unknown): DatabaseErrorInfo {
  const info: DatabaseErrorInfo = { code: undefined, constraint: undefined, table: undefined }
  for (const layer of layersOf(error)) {
    const adapterCode = ADAPTER_ERROR_CODES[nonEmptyString(layer.kind) ?? '']
    info.code =
      nonEmptyString(layer.originalCode) ?? nonEmptyString(layer.code) ?? adapterCode ?? info.code
    info.constraint = constraintOf(layer) ?? info.constraint
    info.table = nonEmptyString(layer.table) ?? info.table
  }
  return info
}

/** Returns the error and those inside it: the ORM wraps the adapter's error, which wraps the driver's. */
function layersOf(error: unknown): Record<string, unknown>[] {
  const layers: Record<string, unknown>[] = []
  let current = error
  while (layers.length < 6 && typeof current === 'object' && current !== null) {
    const layer = current as Record<string, unknown>
    layers.push(layer)
    current = layer.cause ?? readDriverError(layer)
  }
  return layers
}

/**
 * Returns the refusal raised by prisma/functions/troco_refuse.sql, else null. Only errors with its
 * SQLSTATE, TR422, have a JSON message. Other messages can contain rows and are never read.
 */
export function parseDatabaseRefusal(
  error: unknown,
): { code: string; params: Record<string, string | number> } | null {
  if (parseDatabaseError(error).code !== 'TR422') return null
  // Inside the ORM, only the adapter's error has the message of the server.
  const texts = layersOf(error).map(layer => layer.originalMessage ?? layer.message)
  return JSON.parse(String(texts.findLast(text => typeof text === 'string')))
}

/** The error of pg-pool for a wait that was too long, which `isDatabaseUnavailable` recognizes. */
export function connectionTimeout(): Error {
  return new Error('timeout exceeded when trying to connect')
}

export function isDatabaseUnavailable(error: unknown): boolean {
  const { code } = parseDatabaseError(error)
  if (code !== undefined && UNAVAILABLE_CODES.test(code)) return true
  const message = error instanceof Error ? error.message : ''
  return /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Query read timeout/.test(
    message,
  )
}

function constraintOf(layer: Record<string, unknown>): string | undefined {
  const { constraint, originalMessage } = layer
  if (typeof constraint === 'string') return constraint
  if (typeof constraint === 'object' && constraint !== null) {
    return nonEmptyString((constraint as Record<string, unknown>).index)
  }
  // A CHECK's name is only in the adapter's message: the last quoted word, in every language.
  if (layer.originalCode !== '23514' || typeof originalMessage !== 'string') return undefined
  return [...originalMessage.matchAll(/["«»„“”]\s?([a-z0-9_]+)\s?["«»“”]/g)].at(-1)?.[1]
}

function readDriverError(layer: Record<string, unknown>): unknown {
  const value = layer.meta
  if (typeof value !== 'object' || value === null) return undefined
  return (value as Record<string, unknown>).driverAdapterError ?? value
}

function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
