import { API_REFUSALS } from '#lib/core/api-refusals.ts'
import { PAGE_REFUSALS } from '#lib/core/page-refusals.ts'
import type { FieldProblems, Refusal } from '#lib/core/refusal-headers.ts'

export type { FieldProblems, Refusal }

const REFUSAL_TABLE = { ...API_REFUSALS, ...PAGE_REFUSALS }

export type ErrorCode = keyof typeof REFUSAL_TABLE

export type PublicErrorCode = keyof typeof API_REFUSALS

type MessageFunction<Code extends ErrorCode> = Extract<
  (typeof REFUSAL_TABLE)[Code]['message'],
  (...given: never[]) => string
>

export type RefuseArguments<Code extends ErrorCode> = [MessageFunction<Code>] extends [never]
  ? []
  : Parameters<MessageFunction<Code>>

export const REFUSALS: Readonly<Record<ErrorCode, Refusal>> = REFUSAL_TABLE

/** Response to an internal error. The reason is only logged. */
export const INTERNAL_ERROR = {
  status: 500,
  code: 'internal_error',
  message: 'Internal server error',
} as const

export type ApiErrorCode = PublicErrorCode | typeof INTERNAL_ERROR.code

const API_STATUSES: Record<ApiErrorCode, { status: number }> = {
  ...API_REFUSALS,
  [INTERNAL_ERROR.code]: INTERNAL_ERROR,
}

/** All errors that API clients can get, by status. */
export const API_ERRORS = (Object.keys(API_STATUSES) as ApiErrorCode[])
  .map(code => ({ code, status: API_STATUSES[code].status }))
  .toSorted((one, other) => one.status - other.status)
