import type { IncomingMessage, ServerResponse } from 'node:http'
import type { NoticeRules } from '#lib/banks/gateway.ts'
import { canSeeCertificates, isNoticeSecret } from '#lib/banks/notice-address.ts'
import { storeNotices } from '#lib/banks/notices.ts'
import { findBankOfNotice } from '#lib/banks/served.ts'
import { createRangeList, parseAddress } from '#lib/core/addresses.ts'
import { Gate, rest } from '#lib/core/concurrency.ts'
import { refuse } from '#lib/core/errors.ts'
import { log } from '#lib/core/log.ts'
import { env } from '#lib/core/settings.ts'
import { serveApi } from '#lib/http/api.ts'
import type { HttpRequest, HttpResponse } from '#lib/http/exchange.ts'
import type { Sender } from '#lib/http/headers.ts'
import { consumeAllowance } from '#lib/http/rate-limit.ts'
import { respondTo } from '#lib/http/respond.ts'
import { json } from '#lib/http/response.ts'
import { createRouteHandler } from '#lib/http/route-handler.ts'
import { decodePath } from '#lib/http/routes.ts'

const PATH = /^\/api\/banks\/([^/]+)\/notices\/([^/]+?)(?:\/pix)?$/
const BYTES_MAX = 1024 * 1024
/** Bodies of a connection that are being received, in each process: eight of the largest. */
const BYTES_IN_FLIGHT_MAX = 8 * BYTES_MAX
/** What a request costs besides its body. */
const BYTES_MIN = 4 * 1024
/** Larger bodies are read one after the other, and other requests in between. */
const LARGE_BYTES = 64 * 1024
/** Banks wait a second or more for the response, and repeat a notice that failed minutes later. */
const WAIT_MAX_MS = 800

const gates = new Map<string, Gate>()
const largeBodies = new Gate()

export function isBankNotice(path: string): boolean {
  return PATH.test(path)
}

/**
 * Serves a bank's notice. Part of the front, not a route file: no setting leads to Next, whose development
 * server logs paths, and this one contains a secret.
 */
export async function serveBankNotice(
  message: IncomingMessage,
  response: ServerResponse,
  path: string,
  sender: Sender,
): Promise<void> {
  const [, id = '', secret = ''] = (PATH.exec(path) ?? []).map(part => decodePath(part ?? '') ?? '')
  const handlers = new Map([[message.method ?? '', NOTICE_HANDLER]])
  return serveApi(message, response, { handlers, route: '', params: { id, secret } }, sender)
}

/** A wrong secret, an unknown id and another method get what an unknown path gets. */
async function serve(incoming: HttpRequest): Promise<HttpResponse> {
  return respondTo(incoming, 'field_messages', async () => {
    const { ip, params } = incoming
    const { id = '', secret = '' } = params
    const bank = await findBankOfNotice(id)
    const isOpen = isNoticeSecret(id, secret, bank?.notices ?? null)
    if (!bank || !isOpen || incoming.method !== 'POST') {
      await consumeAllowance('ip', ip)
      throw refuse('not_found')
    }
    const lack = findLack(bank.notices, incoming)
    if (lack) {
      await consumeAllowance('ip', ip)
      log().warn({ connectionId: id, lack }, 'notice of a bank refused')
      throw refuse('notice_refused')
    }
    const { gateway } = bank
    // Nothing can be read of the notice. The bank repeats one that is not acknowledged.
    if (gateway === null) throw refuse('service_unavailable')
    await receive(incoming, id, async body => {
      await storeNotices(id, gateway.parseWebhook?.(body) ?? [])
    })
    return json(200, { status: 'success' })
  })
}

const NOTICE_HANDLER = createRouteHandler(serve)

/** Returns what the connection requires of a sender and this one lacks. */
function findLack(
  rules: NoticeRules,
  { ip, header }: HttpRequest,
): 'address' | 'certificate' | null {
  const address = parseAddress(ip)
  const isListed = address !== null && createRangeList(rules.cidrs).has(address)
  if (rules.cidrs.length > 0 && !isListed) return 'address'
  const { CLIENT_CERTIFICATE_HEADER: verdict = '' } = env()
  const isVerified = canSeeCertificates() && header(verdict.toLowerCase()) === 'SUCCESS'
  return rules.isCertificateRequired && !isVerified ? 'certificate' : null
}

/** Reads the body and handles it. Limits the memory and time that the notices of a connection take. */
async function receive(
  incoming: HttpRequest,
  connectionId: string,
  handle: (body: string) => Promise<void>,
): Promise<void> {
  const declared = Number(incoming.header('content-length') ?? BYTES_MAX)
  if (declared > BYTES_MAX) throw refuse('payload_too_large')
  const deadline = performance.now() + WAIT_MAX_MS
  const gate = gates.get(connectionId) ?? new Gate()
  gates.set(connectionId, gate)
  const weight = Math.max(declared, BYTES_MIN)
  await gate.enter(BYTES_IN_FLIGHT_MAX, deadline, () => weight)
  try {
    const bytes = await incoming.readBody(BYTES_MAX).catch(() => {
      throw refuse('malformed_json')
    })
    if (!bytes) throw refuse('payload_too_large')
    const body = Buffer.from(bytes).toString()
    if (bytes.byteLength <= LARGE_BYTES) return await handle(body)
    await handleLarge(body, deadline, handle)
  } finally {
    gate.leave(weight)
  }
}

async function handleLarge(
  body: string,
  deadline: number,
  handle: (body: string) => Promise<void>,
): Promise<void> {
  await largeBodies.enter(1, deadline)
  try {
    await rest()
    await handle(body)
  } finally {
    largeBodies.leave()
  }
}
