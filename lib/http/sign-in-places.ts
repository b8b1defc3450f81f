import type { IncomingMessage, ServerResponse } from 'node:http'
import { networkOf, siteOf } from '#lib/core/addresses.ts'
import { refuse } from '#lib/core/errors.ts'
import { inviteBody, sendResponse } from '#lib/http/api.ts'
import type { Sender } from '#lib/http/headers.ts'
import { refusalResponse } from '#lib/http/response.ts'
import { cookieNames, readCookie } from '#lib/session/read.ts'
import { findIssuedMark } from '#lib/session/sign-in.ts'

const SIGN_IN_PATH = '/api/auth/callback/credentials'
/** Below the bytes that Node buffers of a request, so that a body arrives before anyone reads it. */
const BODY_BYTES_MAX = 16 * 1024

/**
 * Maximum sign-ins in progress, in total, by network and by mark. Next takes milliseconds to refuse
 * one, the front microseconds. `unknown` is less than the queue of password hashes holds, so a flood
 * ends here. `step` is the second step or a passkey, which needs no hash.
 */
const PLACES = {
  known: { max: 200, perNetworkMax: 40, perMarkMax: 10 },
  unknown: { max: 50, perNetworkMax: 12, perMarkMax: 0 },
  step: { max: 50, perNetworkMax: 12, perMarkMax: 0 },
} as const

interface Place {
  kind: keyof typeof PLACES
  network: string
  mark: string | null
}

const taken = new Set<Place>()

export function isSignIn({ method }: IncomingMessage, path: string): boolean {
  return path === SIGN_IN_PATH && method === 'POST'
}

/**
 * Serves a sign-in if there is a place for it, once its body has arrived: a client that sends slowly
 * takes no place.
 */
export async function serveSignIn(
  request: IncomingMessage,
  response: ServerResponse,
  sender: Sender,
  serve: () => Promise<void>,
): Promise<void> {
  if (Number(request.headers['content-length'] ?? 0) > BODY_BYTES_MAX) {
    response.setHeader('connection', 'close')
    return sendResponse(response, refusalResponse(refuse('payload_too_large')), sender)
  }
  inviteBody(request)
  if (!(await hasArrived(request))) return
  const place = makePlace(request, sender.address)
  // Without a socket, the response waits for another one of its connection, perhaps forever.
  if (!response.socket || !hasFreePlace(place)) {
    request.resume()
    return sendResponse(response, refusalResponse(refuse('service_unavailable')), sender)
  }
  taken.add(place)
  // When the response is complete, not when the client has read it.
  response.once('prefinish', () => taken.delete(place))
  try {
    await serve()
  } finally {
    taken.delete(place)
  }
}

/** Waits for the whole body, which stays unread. Returns false if the client disconnected before. */
function hasArrived(request: IncomingMessage): Promise<boolean> {
  if (!(Number(request.headers['content-length']) > 0)) return Promise.resolve(true)
  return new Promise(resolve => {
    const check = () => {
      if (!request.complete && !request.destroyed) return
      request.off('readable', check).off('close', check)
      resolve(request.complete)
    }
    request.on('readable', check).on('close', check)
    check()
  })
}

function makePlace({ headers, url = '' }: IncomingMessage, address: string): Place {
  const mark = findIssuedMark(readCookie(headers.cookie ?? '', cookieNames().device) ?? '')
  const isStep = url.split('?')[1] === 'step'
  const network = siteOf(address) ?? networkOf(address)
  return { kind: mark ? 'known' : isStep ? 'step' : 'unknown', network, mark }
}

function hasFreePlace({ kind, network, mark }: Place): boolean {
  const { max, perNetworkMax, perMarkMax } = PLACES[kind]
  const others = [...taken].filter(other => other.kind === kind)
  if (others.length >= max) return false
  if (others.filter(other => other.network === network).length >= perNetworkMax) return false
  return !mark || others.filter(other => other.mark === mark).length < perMarkMax
}
