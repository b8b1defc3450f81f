import * as z from 'zod'
import { instant, listQuery, modeField, must, openApiMeta, pageOf } from '#lib/core/fields.ts'
import { isUuid } from '#lib/core/ids.ts'

const ID = '01a1fbc4-0b7e-7c21-8f35-5d1f9e64a0b2'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const
const STATUS_RULE = 'be a status such as 422, a class such as 4xx, or failed'
const UUID_RULE = must('be a UUID')
const { limit, cursor, created_from, created_to } = listQuery([]).shape

/** Filters of the log of requests. */
export const requestsQuery = z.object({
  limit,
  cursor,
  created_from,
  created_to,
  status: z
    .string()
    .regex(/^([1-5]\d\d|[1-5]xx|failed)$/, must(STATUS_RULE))
    .optional()
    .meta(
      openApiMeta(
        'Only requests with this status: `422`, `4xx` for all of a class, or `failed` for all from 400.',
        'failed',
      ),
    ),
  method: z
    .enum(METHODS, must(`be one of ${METHODS.join(', ')}`))
    .optional()
    .meta(openApiMeta('Only requests with this method.', 'POST')),
  path: z
    .string()
    .max(100, must('have at most 100 characters'))
    .optional()
    .meta(openApiMeta('Only requests to this path, as `path` names it.', '/transactions/{id}')),
  token_id: z
    .string(UUID_RULE)
    .refine(isUuid, UUID_RULE)
    .optional()
    .meta({ ...openApiMeta('Only requests with this token.', ID), format: 'uuid' }),
  code: z
    .string()
    .max(64, must('have at most 64 characters'))
    .optional()
    .meta(openApiMeta('Only requests with this error code.', 'invalid_input')),
})
export type RequestsQuery = z.infer<typeof requestsQuery>

const LoggedRequest = z
  .object({
    id: z.uuid().meta(openApiMeta('Id of the entry.', ID)),
    created_at: instant.meta(openApiMeta('Time of the response.', '2026-11-21T01:27:00.123000Z')),
    mode: modeField,
    method: z.string().meta(openApiMeta('Method of the request.', 'POST')),
    path: z
      .string()
      .meta(openApiMeta('Path with names for its variable parts.', '/transactions/{id}/refunds')),
    // Not `z.uuid()`: the id of a delivery to an endpoint has no UUID version, and any id may be requested.
    resource_id: z
      .guid()
      .nullable()
      .meta(
        openApiMeta(
          'Last id in the path, or null. Other references are not stored.',
          '01a1fbb6-bf1b-7d40-9b0e-5f0f2d1c88aa',
        ),
      ),
    status: z.int().meta(openApiMeta('Status of the response.', 422)),
    code: z
      .string()
      .nullable()
      .meta(
        openApiMeta('Error code: the `X-Error-Code` of the response, or null.', 'invalid_input'),
      ),
    duration_ms: z
      .number()
      .meta(openApiMeta('Time until the response was ready, in milliseconds.', 4.2)),
    request_id: z
      .string()
      .meta(
        openApiMeta('The `X-Request-Id` of the response.', '7f0c1e4a-5b1d-4a58-9d0e-8b6f3f1f2a11'),
      ),
    token_id: z.uuid().meta(openApiMeta('Id of the token.', ID)),
    token_name: z.string().meta(openApiMeta('Name of the token.', 'Loja')),
  })
  .meta({ id: 'LoggedRequest' })
export type LoggedRequest = z.infer<typeof LoggedRequest>

const BODY =
  'as JSON in which personal data and unknown fields are `***`. Null if there was none, if it is longer than 4 KB, or if the operation handles secrets.'

const RequestDetail = LoggedRequest.extend({
  request_body: z
    .unknown()
    .meta(openApiMeta(`Body of the request, ${BODY}`, { amount: 500, reason: '***' })),
  request_bytes: z
    .int()
    .nullable()
    .meta(openApiMeta('Size of the body of the request as JSON, or null if it was not read.', 42)),
  response_body: z
    .unknown()
    .meta(
      openApiMeta(`Body of the response, ${BODY}`, { errors: { amount: ['amount is required'] } }),
    ),
  response_bytes: z.int().meta(openApiMeta('Size of the body of the response.', 45)),
}).meta({ id: 'LoggedRequestDetail' })
export type RequestDetail = z.infer<typeof RequestDetail>

export const RequestRead = z.object({ data: RequestDetail }).meta({ id: 'LoggedRequestRead' })
export const RequestPage = pageOf(LoggedRequest).meta({ id: 'LoggedRequestPage' })
