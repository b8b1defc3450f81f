import { createHash } from 'node:crypto'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'

/**
 * Adds an entity tag of the body, so that a client may keep the response and ask whether it has changed.
 * It is strong: equal tags mean equal bytes. 304 if the client has this version.
 */
export function withEtag(
  { header }: Pick<HttpRequest, 'header'>,
  response: HttpResponse,
): HttpResponse {
  const hash = createHash('sha256').update(response.bytes ?? response.text)
  const etag = `"${hash.digest('base64url').slice(0, 22)}"`
  const headers: Record<string, string> = {
    ...response.headers,
    etag,
    'cache-control': 'private, no-cache',
  }
  if (!isNamed(etag, header('if-none-match'))) return { ...response, headers }
  const { 'content-type': _, ...others } = headers
  return { status: 304, headers: others, text: '' }
}

/** Returns whether `If-None-Match` names the tag. Weak tags match too, as RFC 9110 demands: a proxy may have weakened the tag. */
export function isNamed(etag: string, tags: string | null | undefined): boolean {
  if (!tags) return false
  return tags.trim() === '*' || tags.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
}
