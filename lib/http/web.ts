import { ADDRESS_HEADER, REQUEST_ID_HEADER } from '#lib/headers.ts'
import type { Answer, Incoming } from '#lib/http/exchange.ts'

/** A request as Next hands it on; who sent it, the front has told it in headers of ours. */
export function fromRequest(request: Request, params: Record<string, string>): Incoming {
  const { headers, method, url } = request
  const { pathname, search } = new URL(url)
  return {
    method,
    url: pathname + search,
    ip: headers.get(ADDRESS_HEADER) ?? '',
    requestId: headers.get(REQUEST_ID_HEADER) ?? undefined,
    params,
    header: name => headers.get(name),
    readBody: bytesMax => readAtMost(request.body, bytesMax),
  }
}

export function toResponse({ status, headers, text }: Answer): Response {
  return new Response(text, { status, headers })
}

async function readAtMost(
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
