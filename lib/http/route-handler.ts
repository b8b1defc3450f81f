import { ADDRESS_HEADER, PATH_HEADER, REQUEST_ID_HEADER, ROUTE_HEADER } from '#lib/core/headers.ts'
import { isWriteMethod, requireSameOrigin } from '#lib/http/caller.ts'
import { type HttpRequest, type HttpResponse, hasBody } from '#lib/http/exchange.ts'
import { errorResponse } from '#lib/http/response.ts'

interface RouteContext {
  /** Resolves to undefined if the path has no variable parts. */
  params: Promise<Record<string, string> | undefined>
}

/** Export of a route module: the handler for Next, and `serve`, which the front calls directly. */
export interface RouteHandler {
  (request: Request, context: RouteContext): Promise<Response>
  serve: (incoming: HttpRequest) => Promise<HttpResponse>
}

export function createRouteHandler(serve: RouteHandler['serve']): RouteHandler {
  const handler = async (request: Request, { params }: RouteContext) =>
    toResponse(await serve(fromRequest(request, (await params) ?? {})))
  return Object.assign(handler, { serve })
}

/** The front has set the client's address, the request id and the path as it was sent as headers. */
function fromRequest(request: Request, params: Record<string, string>): HttpRequest {
  const { headers, method, url } = request
  const { pathname, search } = new URL(url)
  return {
    method,
    // Next re-encodes a query that is not valid, so that it could not be refused.
    url: headers.get(PATH_HEADER) ?? pathname + search,
    ip: headers.get(ADDRESS_HEADER) ?? '',
    requestId: headers.get(REQUEST_ID_HEADER) ?? undefined,
    route: headers.get(ROUTE_HEADER) ?? '',
    params,
    header: name => headers.get(name),
    // A stream does not report whether it has ended before it is read.
    isBodyComplete: () => request.body === null,
    // Under Next, the body of a disconnected caller never ends or fails: only the signal fires.
    readBody: bytesMax =>
      Promise.race([readLimited(request.body, bytesMax), rejectOnAbort(request.signal)]),
    // Next does not report when a response has been sent.
    onEnd: callback => callback(),
  }
}

/** next-auth only compares a token with a cookie, which other applications of this host can set. */
export function refuseCrossSite({ method, headers }: Request): Response | null {
  try {
    if (isWriteMethod(method)) requireSameOrigin({ header: name => headers.get(name) })
    return null
  } catch (error) {
    return toResponse(errorResponse(error, 'field_messages'))
  }
}

function toResponse({ status, headers, text, bytes, chunks }: HttpResponse): Response {
  const body = chunks ? streamOf(chunks) : (bytes ?? text)
  return new Response(hasBody(status) ? body : null, { status, headers })
}

function streamOf(chunks: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const source = chunks[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await source.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
    cancel: () => source.return?.().then(() => {}),
  })
}

async function readLimited(
  body: ReadableStream<Uint8Array> | null,
  bytesMax: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > bytesMax) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => reject(new Error('The client disconnected'))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
