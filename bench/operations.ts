import { isDeepStrictEqual } from 'node:util'
import { isUuid } from '#lib/core/ids.ts'
import { parseBrCode } from '#lib/core/pix/br-code.ts'
import { buildRequest } from './load/send.ts'
import type { OperationName } from './options.ts'
import { CHARGE, type World } from './world.ts'

interface Operation {
  title: string
  requests: (world: World) => Buffer[]
  /** Returns the first wrong field of the first response, or null. */
  findWrongField: (body: ResponseBody, world: World) => string | null
  /** Whether two servers must return equal values or only the same shape. */
  mustMatch: 'values' | 'shape'
}

// biome-ignore lint/suspicious/noExplicitAny: a response of unknown shape, checked field by field.
type ResponseBody = any

const WITHDRAWAL = { amount: 1_000, pix_key: 'ana@example.com', pix_key_type: 'email' }
/** Enough different amounts that a server cannot cache a response. */
const AMOUNT_COUNT = 64
const TIME_PATTERN = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
export const LIST_LIMIT = 20

export const OPERATIONS: Record<OperationName, Operation> = {
  create: {
    title: 'create charge',
    requests: ({ merchant }) =>
      Array.from({ length: AMOUNT_COUNT }, (_, index) =>
        buildRequest('POST', '/api/transactions', merchant.token, {
          ...CHARGE,
          amount: CHARGE.amount + index,
        }),
      ),
    findWrongField: ({ status, data }) =>
      findFailedCheck({
        status: status === 'success' && data.status === 'pending',
        transaction_id: isUuid(data.transaction_id),
        amount: data.amount === CHARGE.amount,
        br_code: decodeAmount(data.br_code) === CHARGE.amount,
        metadata: isDeepStrictEqual(data.metadata, CHARGE.metadata),
      }),
    mustMatch: 'shape',
  },
  read: {
    title: 'read charge',
    requests: ({ merchant, chargeIds }) =>
      chargeIds.map(id => buildRequest('GET', `/api/transactions/${id}`, merchant.token)),
    findWrongField: ({ status, data }, { chargeIds }) =>
      findFailedCheck({
        status: status === 'success' && data.status === 'pending',
        id: data.transaction_id === chargeIds[0] && data.id === chargeIds[0],
        br_code: decodeAmount(data.br_code) === CHARGE.amount,
        client_doc: data.client_doc === CHARGE.client_doc,
        created_at: TIME_PATTERN.test(data.created_at),
      }),
    mustMatch: 'values',
  },
  account: {
    title: 'read account',
    requests: ({ merchant }) => [buildRequest('GET', '/api/account', merchant.token)],
    findWrongField: (body, { merchant: { name }, balance }) =>
      findFailedCheck({ account: isDeepStrictEqual(body, { name, balance }) }),
    mustMatch: 'values',
  },
  withdraw: {
    title: 'withdraw, one account',
    requests: ({ hot }) => [buildRequest('POST', '/api/withdrawals', hot.token, WITHDRAWAL)],
    findWrongField: ({ message, data }) =>
      findFailedCheck({
        message: typeof message === 'string',
        id: isUuid(data.id),
        status: data.status === 'pending',
        amount: data.amount === WITHDRAWAL.amount,
        pix_key: data.pix_key === WITHDRAWAL.pix_key && data.pix_key_type === 'email',
        created_at: TIME_PATTERN.test(data.created_at),
      }),
    mustMatch: 'shape',
  },
  small: listOperation('small'),
  large: listOperation('large'),
}

function listOperation(owner: 'small' | 'large'): Operation {
  const path = `/api/transactions?limit=${LIST_LIMIT}`
  return {
    title: `list of ${LIST_LIMIT}`,
    requests: world => [buildRequest('GET', path, world[owner].token)],
    findWrongField: ({ data, next_cursor }) =>
      findFailedCheck({
        data: data.length === LIST_LIMIT,
        order: data.every(
          (charge: ResponseBody, index: number) => index === 0 || charge.id < data[index - 1].id,
        ),
        next_cursor: typeof next_cursor === 'string',
      }),
    mustMatch: 'values',
  }
}

function findFailedCheck(checks: Record<string, boolean>): string | null {
  return Object.entries(checks).find(([, isMet]) => !isMet)?.[0] ?? null
}

function decodeAmount(code: string): number | null {
  const reading = parseBrCode(code)
  return reading.ok ? reading.code.amount : null
}

export function requireValidResponse(
  name: OperationName,
  text: string,
  world: World,
  otherText?: string,
) {
  const operation = OPERATIONS[name]
  const body = JSON.parse(text)
  const wrongField = operation.findWrongField(body, world)
  if (wrongField) throw new Error(`${operation.title}: ${wrongField} is wrong in ${text}`)
  if (otherText === undefined) return
  const [mine, theirs] = [body, JSON.parse(otherText)].map(response =>
    operation.mustMatch === 'values' ? withoutCursor(response) : shapeOf(response),
  )
  if (isDeepStrictEqual(mine, theirs)) return
  throw new Error(`${operation.title}: the responses of two servers differ\n${text}\n${otherText}`)
}

/** Cursors differ between servers. */
function withoutCursor({ next_cursor, ...rest }: ResponseBody): ResponseBody {
  return { ...rest, next_cursor: typeof next_cursor }
}

function shapeOf(value: ResponseBody): ResponseBody {
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
}
