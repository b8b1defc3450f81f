import type { IncomingMessage, ServerResponse } from 'node:http'
import { refuse } from '#lib/base/errors.ts'
import { networkOf, siteOf } from '#lib/base/network.ts'
import type { HttpResponse } from '#lib/edge/http/exchange.ts'
import { errorResponse } from '#lib/edge/http/response.ts'
import { cookieNames, readCookie } from '#lib/edge/session/cookie.ts'
import { findIssuedMark } from '#lib/services/people/known-device.ts'

const SIGN_IN_PATH = '/api/auth/callback/credentials'

/**
 * Maximum sign-ins in progress, in total and by key: mark or network. Next takes milliseconds to
 * refuse one, the front microseconds. `unknown` is less than the queue of password hashes holds,
 * so a flood ends here. `step` is the second step or a passkey, which needs no hash.
 */
const PLACES = {
  known: { max: 200, perKeyMax: 10 },
  unknown: { max: 50, perKeyMax: 12 },
  step: { max: 50, perKeyMax: 12 },
} as const
type Kind = keyof typeof PLACES

const inProgress: Record<Kind, Map<string, number>> = {
  known: new Map(),
  unknown: new Map(),
  step: new Map(),
}

/** Takes a place until the response is sent. Returns the refusal if there is none; else null. */
export function refuseBusySignIn(
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
): HttpResponse | null {
  const [path, search = ''] = (request.url ?? '').split('?')
  if (path !== SIGN_IN_PATH || request.method !== 'POST') return null
  const mark = findIssuedMark(readCookie(request.headers.cookie ?? '', cookieNames().device) ?? '')
  const kind = mark ? 'known' : search === 'step' ? 'step' : 'unknown'
  const key = mark ?? siteOf(address) ?? networkOf(address)
  const counts = inProgress[kind]
  const count = counts.get(key) ?? 0
  const total = [...counts.values()].reduce((sum, some) => sum + some, 0)
  if (total >= PLACES[kind].max || count >= PLACES[kind].perKeyMax) {
    return errorResponse(refuse('service_unavailable'), 'field_messages')
  }
  counts.set(key, count + 1)
  response.once('close', () => {
    const left = (counts.get(key) ?? 1) - 1
    if (left > 0) counts.set(key, left)
    else counts.delete(key)
  })
  return null
}
