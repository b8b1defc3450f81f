import { parseExactJson } from '#lib/core/exact-json.ts'
import { isUuid } from '#lib/core/ids.ts'
import type { IdempotentRequest } from '#lib/db/idempotency.ts'
import { type Caller, readTokenPrefix } from '#lib/http/caller.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import { type IdempotencyRule, readIdempotencyKey, runOnce } from '#lib/http/idempotency.ts'
import { prefersRepresentation, resultResponse } from '#lib/http/response.ts'
import { type AnyPermission, isForPagesOnly } from '#lib/people/roles.ts'

interface KeyedRequest {
  incoming: HttpRequest
  caller: Caller
  rule: IdempotencyRule
  /** Required permission, as the endpoint declares it. */
  allow: AnyPermission | AnyPermission[]
  content: Record<string, unknown>
  /** Hides documents from the caller in first and repeated responses; undefined: the caller may read them. */
  mask: ((shown: unknown) => unknown) | undefined
}

/**
 * Runs `handle` once per Idempotency-Key, if there is one. A replay shows only what the caller may
 * read. A key of an operation that returns a secret, or of the pages, belongs to its sender.
 */
export async function runOncePerKey(
  { incoming, caller, rule, allow, content, mask }: KeyedRequest,
  handle: (once?: IdempotentRequest) => Promise<unknown>,
): Promise<HttpResponse> {
  const key = readIdempotencyKey(incoming)
  if (key === null) return resultResponse(await handle(), { mask })
  const path = resourcePath(incoming)
  const { showsDocuments } = documentAccess(caller)
  const sender = caller.user?.id ?? readTokenPrefix(incoming)
  const isOfSender =
    [allow].flat().every(isForPagesOnly) ||
    rule.showsSecret ||
    (rule.hasDocument?.(content) && !showsDocuments)
  const compared = isOfSender ? { sender, content } : content
  const scope = { accountId: caller.account.id, mode: caller.mode, path, key }
  const replay = { showsDocuments, prefersRepresentation: prefersRepresentation(incoming) }
  const response = await runOnce(scope, compared, { ...rule, replay }, handle)
  return mask
    ? { ...response, text: JSON.stringify(mask(parseExactJson(response.text))) }
    : response
}

/** Path of the operation and its resource, the same for every spelling. Next may not know the route. */
function resourcePath({ route, params, url }: HttpRequest): string {
  const template = route ? `/api${route}` : (url.split('?')[0] ?? '').replace(/(?<!\/)\/+$/, '')
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name] ?? ''
    return isUuid(value) ? value.toLowerCase() : encodeURIComponent(value)
  })
}

export function documentAccess({ permissions, user }: Caller) {
  const readsPayers = permissions.includes('payers:read')
  return { readsPayers, showsDocuments: readsPayers && user === null }
}
