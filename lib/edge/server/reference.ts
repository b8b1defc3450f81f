import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { buildDocument, type ServedRoute } from '#lib/edge/http/openapi.ts'

interface Served {
  body: Buffer
  headers: Record<string, string>
}

type Serve = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** For the script: it changes only with a new version of Troco, and its URL carries the version. */
const YEAR = 'public, max-age=31536000, immutable'
const MINUTE = 'public, max-age=60'

/** Serves the OpenAPI document and the script that renders it, by path. */
export function serveReference(routes: ServedRoute[], publicUrl: string): Map<string, Serve> {
  const document = JSON.stringify(buildDocument(routes, publicUrl))
  const described = served(Buffer.from(document), 'application/json; charset=utf-8', MINUTE)
  let script: Promise<Served> | undefined
  return new Map([
    ['/api/openapi.json', (request, response) => answer(request, response, described)],
    [
      '/docs/scalar.js',
      async (request, response) => {
        script ??= readScript()
        return answer(request, response, await script)
      },
    ],
  ])
}

async function readScript(): Promise<Served> {
  const place = new URL('browser/standalone.js', import.meta.resolve('@scalar/api-reference'))
  return served(await readFile(place), 'text/javascript; charset=utf-8', YEAR)
}

function served(body: Buffer, type: string, cacheControl: string): Served {
  const digest = createHash('sha256').update(body).digest('base64url')
  const headers = { 'content-type': type, 'cache-control': cacheControl, etag: `"${digest}"` }
  return { body, headers }
}

async function answer(
  { headers: asked }: IncomingMessage,
  response: ServerResponse,
  { body, headers }: Served,
): Promise<void> {
  const known = asked['if-none-match']?.split(',').map(tag => tag.trim().replace(/^W\//, ''))
  if (known?.includes(headers.etag ?? '') || known?.includes('*')) {
    response.writeHead(304, headers).end()
    return
  }
  response.writeHead(200, { ...headers, 'content-length': body.byteLength }).end(body)
}
