import { type ExceededLimit, freesAtText } from '#lib/core/limits.ts'

export type FieldProblems = Record<string, string[]>

/** Values of an error that its headers show. */
export interface HeaderValues {
  permission?: string | undefined
  retryAfterS?: number | undefined
  limit?: ExceededLimit | undefined
  /** Methods of the path. */
  allow?: string | undefined
  /** Epoch of the account's event feed. */
  epoch?: string | undefined
  /** Sequence number after which a reader of that feed continues. */
  continueAfter?: number | undefined
  /** Last sequence number of that feed. */
  lastSequence?: number | undefined
  /** Last sequence number that a restore has kept. */
  lastKept?: number | undefined
}

export interface Refusal {
  status: number
  /** Fixed text, or a function of the arguments that `refuse` takes for this code. */
  message: string | ((...given: never[]) => string)
  field?: string
  /** Response headers besides `x-error-code`: fixed, or a function of the error. */
  headers?: Record<string, string | ((values: HeaderValues) => string | null | undefined)>
}

export const PERMISSION_HEADERS = {
  'x-required-permission': ({ permission }: HeaderValues) => permission,
}
/** Where a reader of the event feed continues. */
export interface FeedPosition {
  epoch: string
  continueAfter: number
  lastSequence: number
}

export const FEED_HEADERS = {
  'troco-feed-epoch': ({ epoch }: HeaderValues) => epoch,
  'troco-continue-after': ({ continueAfter }: HeaderValues) => continueAfter?.toString(),
  'troco-last-sequence': ({ lastSequence }: HeaderValues) => lastSequence?.toString(),
}
export const RESTORE_HEADERS = {
  ...FEED_HEADERS,
  'troco-last-kept': ({ lastKept }: HeaderValues) => lastKept?.toString(),
}
export const RETRY_AFTER_HEADERS = {
  'retry-after': ({ retryAfterS }: HeaderValues) => retryAfterS?.toString(),
}

export const LIMIT_HEADERS = {
  'x-limit': ({ limit }: HeaderValues) => limit?.name,
  'x-limit-amount': ({ limit }: HeaderValues) => limit?.amount?.toString(),
  'x-limit-frees-at': ({ limit }: HeaderValues) => limit?.freesAt && freesAtText(limit.freesAt),
}

/** Message of a code that covers several situations: the caller of `refuse` passes the text. */
export const callerMessage = (message: string, _options?: { cause: unknown }) => message
