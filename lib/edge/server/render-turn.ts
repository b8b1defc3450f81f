import type { IncomingMessage, ServerResponse } from 'node:http'
import { env } from '#lib/base/env.ts'
import { isTrocoError, refuse } from '#lib/base/errors.ts'
import { networkOf } from '#lib/base/network.ts'
import type { HttpResponse } from '#lib/edge/http/exchange.ts'
import { enterGate, leaveGate, WAIT_MAX_MS } from '#lib/edge/http/in-flight.ts'
import { buildPageRefusal, type PageRefusal } from '#lib/edge/http/refusal-page.ts'

/** Rendering a page keeps the process busy for tens of milliseconds, in which the API waits. */
const RENDERS_OF_ADDRESS_MAX = 10
const RENDERS_MAX = 40
const ALL = 'render'
/** Time after which a page whose client has left counts as rendered, even if Next does not end. */
const ABANDONED_MS = 10_000
const headers = { 'retry-after': '1' }
const BUSY: PageRefusal = {
  status: 429,
  error: refuse('too_many_requests', { retryAfterS: 1 }).message,
  reason: 'busy',
  headers,
}
const OVERLOADED: PageRefusal = {
  status: 503,
  error: refuse('service_unavailable').message,
  reason: 'overloaded',
  headers,
}

/**
 * Renders a page when there are places for it; returns the refusal if there are none for 2 s.
 * Without an address, for files and in development, nothing is limited.
 */
export async function renderInTurn(
  request: IncomingMessage,
  response: ServerResponse,
  address: string | null,
  render: () => Promise<void>,
): Promise<HttpResponse | null> {
  // Sign-ins have places of their own, and a body that does not arrive must hold none of a page.
  const isPage = ['GET', 'HEAD'].includes(request.method ?? '')
  if (address === null || !isPage || request.url?.startsWith('/api/auth/')) {
    await render()
    return null
  }
  const deadline = performance.now() + WAIT_MAX_MS
  const ofAddress = `${ALL} ${networkOf(address)}`
  const isAddressLimited = env().RATE_IP_IN_FLIGHT > 0
  if (isAddressLimited && !(await tryWait(ofAddress, RENDERS_OF_ADDRESS_MAX, deadline)))
    return buildPageRefusal(BUSY, request.headers)
  const leaveAddress = () => isAddressLimited && leaveGate(ofAddress)
  // It keeps the address's place meanwhile, so one address's queue cannot fill that of the process.
  if (!(await tryWait(ALL, RENDERS_MAX, deadline))) {
    leaveAddress()
    return buildPageRefusal(OVERLOADED, request.headers)
  }
  if (!response.closed) await renderWithPlaces(response, render, leaveAddress)
  else {
    leaveAddress()
    leaveGate(ALL)
  }
  return null
}

async function renderWithPlaces(
  response: ServerResponse,
  render: () => Promise<void>,
  leaveAddress: () => void,
): Promise<void> {
  const leaveProcess = once(() => leaveGate(ALL))
  // After the headers, a client that reads slowly keeps only the place of its address.
  const { writeHead } = response
  response.writeHead = ((...parameters: Parameters<typeof writeHead>) => {
    leaveProcess()
    return writeHead.apply(response, parameters)
  }) as typeof writeHead
  const end = once(() => {
    leaveProcess()
    leaveAddress()
  })
  const rendering = render()
  const closed = new Promise(resolve => response.once('close', resolve))
  closed.then(() => setTimeout(end, ABANDONED_MS).unref())
  Promise.allSettled([rendering, closed]).then(end)
  await rendering
}

async function tryWait(name: string, max: number, deadline: number): Promise<boolean> {
  try {
    await enterGate(name, max, deadline)
    return true
  } catch (error) {
    if (isTrocoError(error)) return false
    throw error
  }
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}
